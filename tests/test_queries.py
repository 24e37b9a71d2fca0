"""Queries: the calls that run through a driver which a string chooses."""

from __future__ import annotations

import json
import textwrap

import pytest
from harness import CATALOG, check

from gblock.config import Config
from gblock.engine import Request
from gblock.engine import check as check_plainly
from gblock.output import json as json_output
from gblock.output import text

FLASK = """\
    from flask import Flask
    from flask_sqlalchemy import SQLAlchemy

    app = Flask(__name__)
    app.config["SQLALCHEMY_DATABASE_URI"] = "mysql://db/shop"
    db = SQLAlchemy(app)

    class User(db.Model):
        name = db.Column(db.Text)

    @app.route("/users")
    def users():
        User.query.filter_by(name="x").order_by("name").first()
        with db.engine.connect() as connection:
            connection.execute("select 1")
        save()

    @app.route("/other", methods=["POST"])
    def other():
        save()

    def save():
        db.session.commit()

    @app.cli.command()
    def load():
        db.session.execute("delete")
    """
DJANGO = """\
    from django.db import connection, models

    class Order(models.Model):
        name = models.TextField()

    class Stock(Order): pass

    def views():
        Order.objects.get(name="x")
        Stock.objects.filter(name="x").exclude(name="y").first()
        order = Order(name="x")
        order.save()
        with connection.cursor() as cursor:
            cursor.execute("select 1")
        Order.objects.filter(name="x")
        {}.get("x")
        for one in Order.objects.all():
            list(Order.objects.filter(name=one.name).values("id")[:50])
        names = [one.name for one in Order.objects.exclude(name="x")]
        len(names)
    """
REST = """\
    from django.db import models
    from rest_framework import viewsets

    class Order(models.Model):
        name = models.TextField()

    class Orders(viewsets.ModelViewSet):
        queryset = Order.objects.all()

        def retrieve(self, request, pk):
            order = self.get_object()
            page = self.paginate_queryset(self.queryset)
            order.save()
    """
TABLES = """\
    import pandas
    import pyodbc
    from flask import Flask
    from sqlalchemy import create_engine

    app = Flask(__name__)
    engine = create_engine("mysql://db/shop")

    @app.route("/orders")
    def orders():
        some = pandas.read_sql("select 1", engine)
        with engine.connect() as connection:
            more = pandas.read_sql_query("select 1", con=connection)
        some.to_sql("orders", engine)
        return pandas.read_sql("select 1", pyodbc.connect("DSN=erp")).to_html()
    """
MANY = """\
    from flask import Flask
    from flask_sqlalchemy import SQLAlchemy

    app = Flask(__name__)
    app.config["SQLALCHEMY_DATABASE_URI"] = "mysql://db/shop"
    db = SQLAlchemy(app)

    class Order(db.Model): pass

    class Customer(db.Model):
        orders = db.relationship("Order", lazy="dynamic")

    @app.route("/orders")
    def orders():
        customer = db.get_or_404(Customer, 1)
        some = customer.orders.limit(5)
        many = customer.orders.count()
        page = db.paginate(db.select(Order))
        return [one.id for one in some]
    """
PEEWEE = """\
    import peewee
    from playhouse.db_url import connect

    db = connect("mysql://db/shop")

    class Base(peewee.Model):
        class Meta:
            database = db

    class Item(Base):
        name = peewee.CharField()

    def views():
        Item.select().where(Item.name == "x").order_by(Item.name).get()
        item = Item.create(name="x")
        item.save()
        Item.update(name="y").execute()
        Item.select()
        for one in Item.select().where(Item.name == "x"):
            print(one)
    """

ADMIN = """\
    from django.contrib import admin
    from django.db import models

    class Order(models.Model):
        name = models.TextField()

    def count(modeladmin, request, queryset):
        return queryset.filter(name="x").count()

    class Named(admin.SimpleListFilter):
        def queryset(self, request, queryset):
            return queryset if queryset.exists() else None

    class OrderAdmin(admin.ModelAdmin):
        actions = [count]
    """
MIXIN = """\
    from flask import Flask
    from flask_sqlalchemy import SQLAlchemy

    app = Flask(__name__)
    app.config["SQLALCHEMY_DATABASE_URI"] = "mysql://db/shop"
    db = SQLAlchemy(app)

    class Named:
        @classmethod
        def named(cls, name):
            return cls.query.filter_by(name=name).first()

    class Order(Named, db.Model): pass

    @app.route("/orders/<name>")
    def order(name):
        return str(Order.named(name))
    """


@pytest.fixture
def driver(tree):
    """Return the diagnostic of the driver of a service that gunicorn runs on gevent."""

    def of(service, more=None):
        files = {"service.py": textwrap.dedent(service), "Procfile": PROCFILE, **(more or {})}
        root = tree(files)
        config = Config(root=str(root), filename=str(root / "gblock.toml"))
        found = check([str(root)], config).diagnostics
        (one,) = [one for one in found if one.code == "blocking-driver"]
        return one

    return of


PROCFILE = "web: gunicorn -k gevent service:app\n"


def rows(diagnostic):
    return [one.location.row for one in diagnostic.related if one.context]


def test_a_driver_lists_the_queries_of_its_handlers(driver):
    found = driver(FLASK)
    assert [13, 14, 15, 23] == rows(found)
    assert found.message.endswith(": 4 queries in 1 handler")
    contexts = [(one.context, [step.message for step in one.path]) for one in found.related]
    assert ("request", ["GET /users"]) == contexts[0]
    assert ("request", ["GET /users", "save()"]) == contexts[-1]


@pytest.mark.parametrize(
    ("service", "more", "wanted"),
    [
        (
            DJANGO,
            {
                "settings.py": 'DATABASES = {"x": {"ENGINE": "django.db.backends.mysql"}}\n',
                "Procfile": "web: DJANGO_SETTINGS_MODULE=settings gunicorn -k gevent service:app\n",
            },
            [9, 10, 12, 14, 17, 18, 19],
        ),
        (
            REST,
            {
                "settings.py": 'DATABASES = {"x": {"ENGINE": "django.db.backends.mysql"}}\n',
                "Procfile": "web: DJANGO_SETTINGS_MODULE=settings gunicorn -k gevent service:app\n",
            },
            [11, 12, 13],
        ),
        (
            ADMIN,
            {
                "settings.py": 'DATABASES = {"x": {"ENGINE": "django.db.backends.mysql"}}\n',
                "Procfile": "web: DJANGO_SETTINGS_MODULE=settings gunicorn -k gevent service:app\n",
            },
            [8, 12],
        ),
        (MIXIN, {}, [11]),
        (MANY, {}, [15, 17, 18, 19]),
        (TABLES, {}, [11, 12, 13, 14]),
        (PEEWEE, {}, [14, 15, 16, 17, 19]),
    ],
)
def test_each_library_sends_by_its_own_methods(driver, service, more, wanted):
    assert wanted == rows(driver(service, more))


def test_text_shows_the_first_and_json_all(driver):
    found = driver(FLASK)
    report = check_plainly(Request([found.filename], Config()))._replace(diagnostics=(found,))
    shown = text.render(report, lambda _: None, None)
    assert 4 == shown.count("  through: ")
    assert "1 more; --output-format json lists them" in shown
    related = json.loads(json_output.render(report))[0]["related"]
    assert ["request"] * 4 == [one["context"] for one in related]
    assert [["GET /users"]] * 3 == [[step["message"] for step in r["path"]] for r in related[:3]]


@pytest.mark.parametrize("query", CATALOG.queries, ids=lambda one: one.languages[0])
def test_a_block_is_well_formed(query):
    assert {*query.languages} <= {chooser.language for chooser in CATALOG.choosers}
    assert list(query.symbols) == sorted(set(query.symbols))
    assert all(symbol.partition(".")[0] in query.imports for symbol in query.symbols)


TWO_ENGINES = """\
    import os
    from flask import Flask
    from sqlalchemy import create_engine, text
    from sqlalchemy.orm import Session, sessionmaker

    app = Flask(__name__)
    shop = create_engine("postgresql+psycopg2://db/shop")
    old = create_engine({other})
    Shop, Old = sessionmaker(bind=shop), sessionmaker(old)

    def in_shop(session):
        session.execute("one")

    def in_old(session):
        session.execute("two")

    class Reports:
        def __init__(self, engine):
            self.engine = engine

        def all(self):
            return self.engine.connect().execute("three")

    @app.route("/")
    def view():
        with shop.begin() as connection:
            connection.execute("four")
        with old.begin() as connection:
            connection.execute("five")
        with Shop() as session:
            in_shop(session)
        with Old() as session:
            in_old(session)
        Session(shop).commit()
        Session(bind=old).rollback()
        Reports(old).all()
    """


@pytest.mark.parametrize(
    ("other", "with_it"), [('"mysql+pymysql://db/old"', False), ("os.environ['OLD']", True)]
)
def test_a_statement_goes_through_its_own_engine(driver, other, with_it):
    code = textwrap.dedent(TWO_ENGINES).replace("{other}", other)
    lines = code.splitlines()
    found = {lines[row - 1].strip() for row in rows(driver(code))}

    own = {
        'session.execute("one")',
        "with shop.begin() as connection:",
        'connection.execute("four")',
        "Session(shop).commit()",
    }
    others = {
        'session.execute("two")',
        'return self.engine.connect().execute("three")',
        "with old.begin() as connection:",
        'connection.execute("five")',
        "Session(bind=old).rollback()",
    }
    assert own <= found
    assert others & found == (others if with_it else set())
