"""The web service of a small shop."""

from flask import Flask, jsonify, request

from shop import db, events, passwords

app = Flask(__name__)


@app.get("/health")
def health():
    return "ok\n"


@app.post("/login")
def login():
    if not passwords.matches(request.form["password"], passwords.DEMO):
        return "no\n", 403
    return "welcome\n"


@app.get("/orders/<int:number>")
def order(number):
    return jsonify(db.order(number))


@app.post("/orders")
def new_order():
    events.publish("orders", request.get_data())
    return "accepted\n", 202
