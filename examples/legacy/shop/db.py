"""Orders are in PostgreSQL."""

import psycopg2


def order(number):
    with psycopg2.connect("dbname=shop") as connection, connection.cursor() as cursor:
        cursor.execute("select number, state from orders where number = %s", (number,))
        return dict(zip(("number", "state"), cursor.fetchone()))
