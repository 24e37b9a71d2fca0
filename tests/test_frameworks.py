"""The ways in which frameworks start code: one small application for each, with its context.

The path begins with the route or event where the application names one.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import CATALOG
from test_contexts import reported, ways

APPLICATIONS = {
    "flask add_url_rule": (
        "request",
        "GET /orders",
        """
        from flask import Flask
        app = Flask(__name__)
        def place(): CALL
        app.add_url_rule("/orders", view_func=place)
        """,
        {},
    ),
    "flask add_url_rule as_view": (
        "request",
        "",
        """
        from flask import Flask
        from flask.views import View
        app = Flask(__name__)
        class Orders(View):
            def dispatch_request(self): CALL
        app.add_url_rule("/orders", view_func=Orders.as_view("orders"))
        """,
        {},
    ),
    "flask hook factory": (
        "request",
        "",
        """
        from flask import Flask
        def load(): CALL
        def create_app():
            app = Flask(__name__)
            app.before_request(load)
            return app
        """,
        {},
    ),
    "flask after_this_request": (
        "request",
        "",
        """
        from flask import Flask, after_this_request
        app = Flask(__name__)
        @app.route("/")
        def place():
            @after_this_request
            def later(response): CALL
        """,
        {},
    ),
    "flask middleware class": (
        "request",
        "",
        """
        from flask import Flask
        class Timing:
            def __init__(self, app): self.app = app
            def __call__(self, env, start):
                CALL
                return self.app(env, start)
        app = Flask(__name__)
        app.wsgi_app = Timing(app.wsgi_app)
        """,
        {},
    ),
    "flask error handler": (
        "request",
        "",
        """
        from flask import Flask
        app = Flask(__name__)
        @app.errorhandler(404)
        def lost(error): CALL
        """,
        {},
    ),
    "flask json encoder": (
        "request",
        "",
        """
        from flask import Flask
        from flask.json.provider import JSONProvider
        class P(JSONProvider):
            def dumps(self, obj): CALL
        app = Flask(__name__)
        app.json = P(app)
        """,
        {},
    ),
    "flask signal": (
        "request",
        "",
        """
        from flask import Flask, request_finished
        app = Flask(__name__)
        def log(sender): CALL
        request_finished.connect(log, app)
        """,
        {},
    ),
    "flask stream generator": (
        "request",
        "",
        """
        from flask import Flask, Response
        app = Flask(__name__)
        @app.route("/s")
        def place():
            def generate():
                CALL
                yield 1
            return Response(generate())
        """,
        {},
    ),
    "flask cli": (
        "command",
        "",
        """
        from flask import Flask
        app = Flask(__name__)
        @app.cli.command("x")
        def load(): CALL
        """,
        {},
    ),
    "flask-restful add_resource": (
        "request",
        "GET /orders",
        """
        from flask import Flask
        from flask_restful import Api, Resource
        app = Flask(__name__)
        api = Api(app)
        class Orders(Resource):
            def get(self): CALL
        api.add_resource(Orders, "/orders")
        """,
        {},
    ),
    "flask-restx route": (
        "request",
        "GET /orders",
        """
        from flask_restx import Namespace, Resource
        ns = Namespace("x")
        @ns.route("/orders")
        class Orders(Resource):
            def get(self): CALL
        """,
        {},
    ),
    "flask-smorest": (
        "request",
        "GET /orders",
        """
        from flask_smorest import Blueprint
        from flask.views import MethodView
        blp = Blueprint("x", "x")
        @blp.route("/orders")
        class Orders(MethodView):
            def get(self): CALL
        """,
        {},
    ),
    "flask-smorest function": (
        "request",
        "POST /orders",
        """
        from flask_smorest import Blueprint
        blp = Blueprint("x", "x")
        @blp.route("/orders", methods=["POST"])
        def place(): CALL
        """,
        {},
    ),
    "flask-socketio on": (
        "request",
        "event order",
        """
        from flask_socketio import SocketIO
        sio = SocketIO()
        @sio.on("order")
        def place(data): CALL
        """,
        {},
    ),
    "flask-socketio event": (
        "request",
        "event place",
        """
        from flask_socketio import SocketIO
        sio = SocketIO()
        @sio.event
        def place(data): CALL
        """,
        {},
    ),
    "flask-socketio namespace": (
        "request",
        "event place",
        """
        from flask_socketio import SocketIO, Namespace
        sio = SocketIO()
        class Orders(Namespace):
            def on_place(self, data): CALL
        sio.on_namespace(Orders("/x"))
        """,
        {},
    ),
    "flask-socketio background": (
        "greenlet",
        "",
        """
        from flask_socketio import SocketIO
        sio = SocketIO()
        def poll(): CALL
        sio.start_background_task(poll)
        """,
        {},
    ),
    "python-socketio on": (
        "request",
        "event order",
        """
        import socketio
        sio = socketio.Server()
        @sio.on("order")
        def place(sid, data): CALL
        """,
        {},
    ),
    "python-socketio event": (
        "request",
        "event place",
        """
        import socketio
        sio = socketio.Server()
        @sio.event
        def place(sid, data): CALL
        """,
        {},
    ),
    "python-socketio namespace": (
        "request",
        "",
        """
        import socketio
        class Orders(socketio.Namespace):
            def on_place(self, sid, data): CALL
        """,
        {},
    ),
    "django function path": (
        "request",
        "GET orders/",
        """
        from django.urls import path
        def place(request): CALL
        urlpatterns = [path("orders/", place)]
        """,
        {},
    ),
    "django dotted string view": (
        "request",
        "",
        """
        from django.conf.urls import url
        urlpatterns = [url(r"^orders/", "views.place")]
        """,
        {
            "views.py": """
            def place(request): CALL
            """,
        },
    ),
    "django view class": (
        "request",
        "",
        """
        from django.views import View
        class Orders(View):
            def get(self, request): CALL
        """,
        {},
    ),
    "django middleware class": (
        "request",
        "",
        """
        class M:
            def __init__(self, get_response): self.get_response = get_response
            def __call__(self, request):
                CALL
                return self.get_response(request)
        """,
        {
            "settings.py": """
            MIDDLEWARE = ['orders.M']
            INSTALLED_APPS=['django.contrib.auth']
            """,
        },
    ),
    "django middleware function": (
        "request",
        "",
        """
        def timing(get_response):
            def middleware(request):
                CALL
                return get_response(request)
            return middleware
        """,
        {
            "settings.py": """
            MIDDLEWARE = ['orders.timing']
            INSTALLED_APPS=['django.contrib.auth']
            """,
        },
    ),
    "django context processor": (
        "request",
        "",
        """
        def user(request): CALL
        """,
        {
            "settings.py": """
            import django
            TEMPLATES=[{'OPTIONS':{'context_processors':['orders.user']}}]
            """,
        },
    ),
    "django signal receiver": (
        "request",
        "",
        """
        from django.db.models.signals import post_save
        def saved(sender, **kw): CALL
        post_save.connect(saved)
        """,
        {},
    ),
    "django model save": (
        "request",
        "",
        """
        from django.db import models
        class Order(models.Model):
            def save(self, *a, **k):
                CALL
                super().save(*a, **k)
        """,
        {
            "views.py": """
            from django.http import HttpResponse
            from django.urls import path
            from orders import Order
            def place(request):
                o = Order()
                o.save()
            urlpatterns=[path('x', place)]
            """,
        },
    ),
    "django admin action": (
        "request",
        "",
        """
        from django.contrib import admin
        class OrderAdmin(admin.ModelAdmin):
            def ship(self, request, queryset): CALL
        """,
        {},
    ),
    "django admin action of a module": (
        "request",
        "",
        """
        from django.contrib import admin
        def ship(modeladmin, request, queryset): CALL
        class Base(admin.ModelAdmin): pass
        class OrderAdmin(Base):
            actions = [ship]
        """,
        {},
    ),
    "django admin column": (
        "request",
        "",
        """
        from django.contrib import admin
        def weight(order): CALL
        class OrderAdmin(admin.ModelAdmin):
            list_display = ["id", weight]
        """,
        {},
    ),
    "django form clean": (
        "request",
        "",
        """
        from django import forms
        class F(forms.Form):
            def clean(self): CALL
        """,
        {},
    ),
    "django AppConfig.ready": (
        "startup",
        "",
        """
        from django.apps import AppConfig
        class Orders(AppConfig):
            name = "orders"
            def ready(self): CALL
        """,
        {},
    ),
    "django template tag": (
        "request",
        "",
        """
        from django import template
        register = template.Library()
        @register.simple_tag
        def tag(): CALL
        """,
        {},
    ),
    "django auth backend settings": (
        "request",
        "",
        """
        class Backend:
            def authenticate(self, request, username=None): CALL
        """,
        {
            "settings.py": """
            import django
            AUTHENTICATION_BACKENDS=['orders.Backend']
            """,
        },
    ),
    "drf serializer": (
        "request",
        "",
        """
        from rest_framework import serializers
        class S(serializers.Serializer):
            def validate(self, data): CALL
        """,
        {},
    ),
    "drf api_view": (
        "request",
        "",
        """
        from rest_framework.decorators import api_view
        @api_view(["GET"])
        def place(request): CALL
        """,
        {},
    ),
    "drf exception handler": (
        "request",
        "",
        """
        def handle(exc, context): CALL
        """,
        {
            "settings.py": """
            import django
            REST_FRAMEWORK={'EXCEPTION_HANDLER':'orders.handle'}
            # rest_framework
            """,
        },
    ),
    "pyramid view_config": (
        "request",
        "",
        """
        from pyramid.view import view_config
        @view_config(route_name="orders")
        def place(request): CALL
        """,
        {},
    ),
    "pyramid view class": (
        "request",
        "",
        """
        from pyramid.view import view_config, view_defaults
        @view_defaults(route_name="orders")
        class Orders:
            def __init__(self, request): self.request = request
            @view_config(request_method="POST")
            def place(self): CALL
        """,
        {},
    ),
    "pyramid add_view": (
        "request",
        "",
        """
        from pyramid.config import Configurator
        def place(request): CALL
        def main(settings):
            config = Configurator(settings=settings)
            config.add_route("orders", "/orders")
            config.add_view(place, route_name="orders")
            return config.make_wsgi_app()
        """,
        {},
    ),
    "pyramid tween": (
        "request",
        "",
        """
        from pyramid.config import Configurator
        def tween_factory(handler, registry):
            def tween(request):
                CALL
                return handler(request)
            return tween
        def main(settings):
            config = Configurator(settings=settings)
            config.add_tween("orders.tween_factory")
        """,
        {},
    ),
    "pyramid subscriber of a request": (
        "request",
        "",
        """
        from pyramid.config import Configurator
        from pyramid.events import ApplicationCreated, NewRequest, subscriber

        @subscriber(NewRequest)
        def place(event): CALL

        config = Configurator()
        """,
        {},
    ),
    "pyramid subscriber of the application": (
        "startup",
        "",
        """
        from pyramid.config import Configurator
        from pyramid.events import ApplicationCreated, NewRequest, subscriber

        @subscriber(ApplicationCreated)
        def place(event): CALL

        config = Configurator()
        """,
        {},
    ),
    "pyramid subscriber that is added": (
        "request",
        "",
        """
        from pyramid.config import Configurator
        from pyramid.events import ApplicationCreated, NewRequest, subscriber

        def place(event): CALL

        config = Configurator()
        config.add_subscriber(place, NewRequest)
        """,
        {},
    ),
    "pyramid subscriber that is added for the application": (
        "startup",
        "",
        """
        from pyramid.config import Configurator
        from pyramid.events import ApplicationCreated, NewRequest, subscriber

        def place(event): CALL

        config = Configurator()
        config.add_subscriber(place, ApplicationCreated)
        """,
        {},
    ),
    "pyramid root factory": (
        "request",
        "",
        """
        from pyramid.config import Configurator
        def root(request): CALL
        def main(settings):
            config = Configurator(settings=settings, root_factory=root)
            return config.make_wsgi_app()
        """,
        {},
    ),
    "pyramid factory of a route": (
        "request",
        "",
        """
        from pyramid.config import Configurator
        def orders(request): CALL
        def main(settings):
            config = Configurator(settings=settings)
            config.add_route("orders", "/orders", factory=orders)
        """,
        {},
    ),
    "pyramid basic authentication": (
        "request",
        "",
        """
        from pyramid.authentication import BasicAuthAuthenticationPolicy
        from pyramid.config import Configurator
        def check(username, password, request): CALL
        def main(settings):
            config = Configurator(settings=settings)
            config.set_authentication_policy(BasicAuthAuthenticationPolicy(check))
        """,
        {},
    ),
    "pyramid security policy": (
        "request",
        "",
        """
        from pyramid.config import Configurator
        class Policy:
            def identity(self, request): CALL
        def main(settings):
            config = Configurator(settings=settings)
            config.set_security_policy(Policy())
        """,
        {},
    ),
    "a handler of logging": (
        "request",
        "",
        """
        import logging
        class Stored(logging.Handler):
            def emit(self, record): CALL
        logging.getLogger().addHandler(Stored())
        """,
        {},
    ),
    "pyramid includeme subscriber": (
        "request",
        "",
        """
        from pyramid.events import NewRequest, subscriber
        @subscriber(NewRequest)
        def opened(event): CALL
        """,
        {},
    ),
    "pyramid add_view dotted": (
        "request",
        "",
        """
        from pyramid.config import Configurator
        def place(request): CALL
        def main(settings):
            config = Configurator(settings=settings)
            config.add_view("orders.place", route_name="orders")
        """,
        {},
    ),
    "pyramid add_view of a class by name, and its method": (
        "request",
        "",
        """
        from pyramid.config import Configurator
        class Orders:
            def __init__(self, request): self.request = request
            def place(self): CALL
        def main(settings):
            config = Configurator(settings=settings)
            config.add_view(".orders.Orders", attr="place", route_name="orders")
        """,
        {},
    ),
    "pyramid add_view of a class, and its method": (
        "request",
        "",
        """
        from pyramid.config import Configurator
        class Orders:
            def __init__(self, request): self.request = request
            def place(self): CALL
        def main(settings):
            config = Configurator(settings=settings)
            config.add_view(Orders, attr="place", route_name="orders")
        """,
        {},
    ),
    "pyramid add_view relative": (
        "request",
        "",
        """
        from pyramid.config import Configurator
        def place(request): CALL
        def main(settings):
            config = Configurator(settings=settings)
            config.add_view(".orders.place", route_name="orders")
        """,
        {},
    ),
    "the check of a password": (
        "request",
        "",
        """
        import bottle
        def known(user, password): CALL
        @bottle.auth_basic(known)
        def place(): pass
        """,
        {},
    ),
    "a handler of a type of media": (
        "request",
        "",
        """
        import falcon
        class Orders(falcon.media.BaseHandler):
            def deserialize(self, stream, content_type, content_length): CALL
        """,
        {},
    ),
    "a watch of a node": (
        "greenlet",
        "",
        """
        from gevent import monkey
        monkey.patch_all()
        from kazoo.client import KazooClient
        client = KazooClient()
        @client.DataWatch("/orders")
        def changed(data, stat): CALL
        """,
        {},
    ),
    "a collector of metrics": (
        "request",
        "",
        """
        from prometheus_client import REGISTRY
        class Orders:
            def collect(self): CALL
        REGISTRY.register(Orders())
        """,
        {},
    ),
    "a gauge of a function": (
        "request",
        "",
        """
        from prometheus_client import Gauge
        def count(): CALL
        Gauge("orders", "Open orders").set_function(count)
        """,
        {},
    ),
    "a type of a column": (
        "request",
        "",
        """
        from sqlalchemy import String, TypeDecorator
        class Sealed(TypeDecorator):
            impl = String
            def process_bind_param(self, value, dialect): CALL
        """,
        {},
    ),
    "a handler of requests of gevent": (
        "request",
        "",
        """
        from gevent.pywsgi import WSGIHandler
        class Audited(WSGIHandler):
            def log_request(self): CALL
        """,
        {},
    ),
    "a formatter of a column": (
        "request",
        "",
        """
        from flask_admin.contrib.sqla import ModelView
        def place(view, context, model, name): CALL
        class Orders(ModelView):
            column_formatters = {"place": place}
        """,
        {},
    ),
    "a class of views with decorators": (
        "request",
        "",
        """
        from flask.views import MethodView
        def audited(view):
            def inner(*given):
                CALL
                return view(*given)
            return inner
        class Orders(MethodView):
            decorators = [audited]
            def get(self): pass
        """,
        {},
    ),
    "a validator of a form's field": (
        "request",
        "",
        """
        from wtforms import Form, StringField
        from wtforms.validators import DataRequired
        def known(form, field): CALL
        class Order(Form):
            place = StringField("place", [DataRequired(), known])
        """,
        {},
    ),
    "a validator of a model's field": (
        "request",
        "",
        """
        from django.db import models
        def known(value): CALL
        class Order(models.Model):
            place = models.CharField(max_length=9, validators=[known])
        """,
        {},
    ),
    "a validator of a serializer's field": (
        "request",
        "",
        """
        from rest_framework import serializers
        def known(value): CALL
        class Order(serializers.Serializer):
            place = serializers.CharField(validators=[known])
        """,
        {},
    ),
    "a field of a model": (
        "request",
        "",
        """
        from django.db import models
        class Sealed(models.TextField):
            def get_prep_value(self, value): CALL
        """,
        {},
    ),
    "a node of a template": (
        "request",
        "",
        """
        from django import template
        class Places(template.Node):
            def render(self, context): CALL
        """,
        {},
    ),
    "a field of a schema": (
        "request",
        "",
        """
        from marshmallow import fields
        class Place(fields.Field):
            def _deserialize(self, value, attr, data): CALL
        """,
        {},
    ),
    "a function of a schema": (
        "request",
        "",
        """
        from marshmallow import Schema, fields
        def place(order): CALL
        class Order(Schema):
            town = fields.Function(place)
        """,
        {},
    ),
    "the type of an argument": (
        "request",
        "",
        """
        from flask_restx import reqparse
        def place(text): CALL
        parser = reqparse.RequestParser()
        parser.add_argument("place", type=place)
        """,
        {},
    ),
    "the key of a limit": (
        "request",
        "",
        """
        from flask import Flask
        from flask_limiter import Limiter
        def customer(): CALL
        limiter = Limiter(customer, app=Flask("orders"))
        """,
        {},
    ),
    "pyramid view_config on class attr": (
        "request",
        "",
        """
        from pyramid.view import view_config
        @view_config(route_name="orders", attr="place")
        class Orders:
            def __init__(self, request): self.request = request
            def place(self): CALL
        """,
        {},
    ),
    "falcon resource": (
        "request",
        "",
        """
        import falcon
        class Orders:
            def on_post(self, req, resp): CALL
        app = falcon.App()
        app.add_route("/orders", Orders())
        """,
        {},
    ),
    "falcon suffix responder": (
        "request",
        "",
        """
        import falcon
        class Orders:
            def on_get_collection(self, req, resp): CALL
        app = falcon.App()
        app.add_route("/orders", Orders(), suffix="collection")
        """,
        {},
    ),
    "falcon middleware": (
        "request",
        "",
        """
        import falcon
        class M:
            def process_request(self, req, resp): CALL
        app = falcon.App(middleware=[M()])
        """,
        {},
    ),
    "falcon hook": (
        "request",
        "",
        """
        import falcon
        def check(req, resp, resource, params): CALL
        class Orders:
            @falcon.before(check)
            def on_post(self, req, resp): pass
        """,
        {},
    ),
    "falcon error handler": (
        "request",
        "",
        """
        import falcon
        def oops(req, resp, ex, params): CALL
        app = falcon.App()
        app.add_error_handler(Exception, oops)
        """,
        {},
    ),
    "bottle route": (
        "request",
        "GET /orders",
        """
        from bottle import route
        @route("/orders")
        def place(): CALL
        """,
        {},
    ),
    "bottle app route callback": (
        "request",
        "",
        """
        import bottle
        app = bottle.Bottle()
        def place(): CALL
        app.route("/orders", "GET", place)
        """,
        {},
    ),
    "bottle plugin": (
        "request",
        "",
        """
        import bottle
        class P:
            api = 2
            def apply(self, callback, route):
                def wrapper(*a, **k):
                    CALL
                    return callback(*a, **k)
                return wrapper
        bottle.install(P())
        """,
        {},
    ),
    "bottle default app method": (
        "request",
        "POST /orders",
        """
        import bottle
        app = bottle.default_app()
        @app.post("/orders")
        def place(): CALL
        """,
        {},
    ),
    "werkzeug Request.application": (
        "request",
        "",
        """
        from werkzeug.wrappers import Request, Response
        @Request.application
        def application(request): CALL
        """,
        {},
    ),
    "cherrypy expose": (
        "request",
        "",
        """
        import cherrypy
        class Root:
            @cherrypy.expose
            def place(self): CALL
        cherrypy.quickstart(Root())
        """,
        {},
    ),
    "cherrypy exposed attribute": (
        "request",
        "",
        """
        import cherrypy
        class Root:
            def place(self): CALL
            place.exposed = True
        cherrypy.quickstart(Root())
        """,
        {},
    ),
    "cherrypy class expose + MethodDispatcher": (
        "request",
        "",
        """
        import cherrypy
        @cherrypy.expose
        class Orders:
            def POST(self): CALL
        cherrypy.tree.mount(Orders(), "/orders")
        """,
        {},
    ),
    "cherrypy tool": (
        "request",
        "",
        """
        import cherrypy
        def check(): CALL
        cherrypy.tools.check = cherrypy.Tool("before_handler", check)
        """,
        {},
    ),
    "connexion resolver": (
        "request",
        "",
        """
        import connexion
        app = connexion.FlaskApp(__name__)
        app.add_api("openapi.yaml")
        """,
        {
            "api/orders.py": """
            import os
            def post(): CALL
            """,
            "openapi.yaml": """
            paths:
              /orders:
                post:
                  operationId: api.orders.post
            """,
        },
    ),
    "connexion relative resolver": (
        "request",
        "",
        """
        import connexion
        app = connexion.FlaskApp(__name__)
        app.add_api("openapi.yaml", resolver=connexion.resolver.RelativeResolver("api.orders"))
        """,
        {
            "api/orders.py": """
            import os
            def post(): CALL
            """,
            "openapi.yaml": """
            paths:
              /orders:
                post:
                  operationId: post
            """,
        },
    ),
    "connexion resolver by paths": (
        "request",
        "",
        """
        import connexion
        from connexion.resolver import RestyResolver
        app = connexion.FlaskApp(__name__)
        app.add_api("openapi.yaml", resolver=RestyResolver("api"))
        """,
        {
            "api/orders.py": """
            import os
            def search(): CALL
            """,
            "openapi.yaml": """
            paths:
              /orders:
                get: {}
            """,
        },
    ),
    "pywsgi handler": (
        "request",
        "",
        """
        from gevent.pywsgi import WSGIServer
        def app(env, start): CALL
        WSGIServer(("", 1), app).serve_forever()
        """,
        {},
    ),
    "pywsgi object": (
        "request",
        "",
        """
        from gevent.pywsgi import WSGIServer
        class App:
            def __call__(self, env, start): CALL
        WSGIServer(("", 1), App()).serve_forever()
        """,
        {},
    ),
    "StreamServer method": (
        "request",
        "",
        """
        from gevent.server import StreamServer
        class S:
            def handle(self, sock, addr): CALL
            def start(self): StreamServer(("", 1), self.handle).serve_forever()
        S().start()
        """,
        {},
    ),
    "StreamServer subclass": (
        "request",
        "",
        """
        from gevent.server import StreamServer
        class S(StreamServer):
            def handle(self, sock, addr): CALL
        S(("",1)).serve_forever()
        """,
        {},
    ),
    "geventwebsocket Resource": (
        "request",
        "",
        """
        from geventwebsocket import WebSocketServer, WebSocketApplication, Resource
        class Chat(WebSocketApplication):
            def on_message(self, message): CALL
        WebSocketServer(("",1), Resource({"/": Chat})).serve_forever()
        """,
        {},
    ),
    "nameko rpc": (
        "request",
        "",
        """
        from nameko.rpc import rpc
        class S:
            name = "s"
            @rpc
            def place(self): CALL
        """,
        {},
    ),
    "nameko timer": (
        "request",
        "",
        """
        from nameko.timer import timer
        class S:
            name = "s"
            @timer(interval=1)
            def place(self): CALL
        """,
        {},
    ),
    "nameko dependency provider": (
        "request",
        "",
        """
        from nameko.extensions import DependencyProvider
        class D(DependencyProvider):
            def worker_setup(self, ctx): CALL
        """,
        {},
    ),
    "grpc servicer": (
        "request",
        "",
        """
        import grpc, orders_pb2_grpc
        class Orders(orders_pb2_grpc.OrdersServicer):
            def Place(self, request, context): CALL
        server = grpc.server(None)
        orders_pb2_grpc.add_OrdersServicer_to_server(Orders(), server)
        """,
        {},
    ),
    "grpc servicer duck typed": (
        "request",
        "",
        """
        import grpc, orders_pb2_grpc
        class Orders:
            def Place(self, request, context): CALL
        server = grpc.server(None)
        orders_pb2_grpc.add_OrdersServicer_to_server(Orders(), server)
        """,
        {},
    ),
    "grpc server interceptor": (
        "request",
        "",
        """
        import grpc
        class I(grpc.ServerInterceptor):
            def intercept_service(self, continuation, details): CALL
        """,
        {},
    ),
    "graphene resolver": (
        "request",
        "",
        """
        import graphene
        class Query(graphene.ObjectType):
            orders = graphene.List(graphene.String)
            def resolve_orders(self, info): CALL
        """,
        {},
    ),
    "graphene resolver arg": (
        "request",
        "",
        """
        import graphene
        def resolve(root, info): CALL
        class Query(graphene.ObjectType):
            orders = graphene.String(resolver=resolve)
        """,
        {},
    ),
    "graphene mutation": (
        "request",
        "",
        """
        import graphene
        class M(graphene.Mutation):
            def mutate(self, info): CALL
        """,
        {},
    ),
    "ariadne field": (
        "request",
        "",
        """
        from ariadne import QueryType
        query = QueryType()
        @query.field("orders")
        def orders(obj, info): CALL
        """,
        {},
    ),
    "ariadne set_field": (
        "request",
        "",
        """
        from ariadne import QueryType
        query = QueryType()
        def orders(obj, info): CALL
        query.set_field("orders", orders)
        """,
        {},
    ),
    "ariadne convert_kwargs mutation": (
        "request",
        "",
        """
        from ariadne import MutationType
        mutation = MutationType()
        @mutation.field("place")
        def place(obj, info): CALL
        """,
        {},
    ),
    "strawberry field method": (
        "request",
        "",
        """
        import strawberry
        @strawberry.type
        class Query:
            @strawberry.field
            def orders(self) -> int: CALL
        """,
        {},
    ),
    "strawberry resolver arg": (
        "request",
        "",
        """
        import strawberry
        def get_orders(): CALL
        @strawberry.type
        class Query:
            orders: int = strawberry.field(resolver=get_orders)
        """,
        {},
    ),
    "aiohttp handler": (
        "other-process",
        "",
        """
        from aiohttp import web
        async def place(request): CALL
        app = web.Application()
        app.add_routes([web.get("/", place)])
        """,
        {},
    ),
    "aiohttp router add": (
        "other-process",
        "",
        """
        from aiohttp import web
        async def place(request): CALL
        app = web.Application()
        app.router.add_get("/", place)
        """,
        {},
    ),
    "aiohttp routes": (
        "other-process",
        "",
        """
        from aiohttp import web
        routes = web.RouteTableDef()
        @routes.get("/")
        async def place(request): CALL
        """,
        {},
    ),
    "fastapi depends": (
        "other-process",
        "",
        """
        from fastapi import FastAPI, Depends
        app = FastAPI()
        def user(): CALL
        @app.get("/")
        def place(u=Depends(user)): pass
        """,
        {},
    ),
    "tornado handler": (
        "other-process",
        "",
        """
        import tornado.web
        class H(tornado.web.RequestHandler):
            def get(self): CALL
        """,
        {},
    ),
    "celery app.task": (
        "task",
        "",
        """
        from celery import Celery
        app = Celery("x")
        @app.task
        def place(): CALL
        """,
        {},
    ),
    "celery class task": (
        "task",
        "",
        """
        from celery import Celery, Task
        app = Celery("x")
        class Place(Task):
            def run(self): CALL
        app.register_task(Place())
        """,
        {},
    ),
    "celery task_prerun": (
        "task",
        "",
        """
        from celery.signals import task_prerun
        @task_prerun.connect
        def before(**kw): CALL
        """,
        {},
    ),
    "celery task_failure connect call": (
        "task",
        "",
        """
        from celery.signals import task_failure
        def failed(**kw): CALL
        task_failure.connect(failed)
        """,
        {},
    ),
    "celery signals module": (
        "task",
        "",
        """
        from celery import signals
        @signals.task_postrun.connect
        def before(**kw): CALL
        """,
        {},
    ),
    "celery worker_process_init": (
        "startup",
        "",
        """
        from celery.signals import worker_process_init
        @worker_process_init.connect
        def before(**kw): CALL
        """,
        {},
    ),
    "celery bootstep": (
        "startup",
        "",
        """
        from celery import bootsteps
        class B(bootsteps.StartStopStep):
            def start(self, worker): CALL
        """,
        {},
    ),
    "celery app from other module": (
        "task",
        "",
        """
        from proj.celery import app
        @app.task(bind=True)
        def place(self): CALL
        """,
        {
            "proj/__init__.py": """

            """,
            "proj/celery.py": """
            from celery import Celery
            app = Celery('x')
            """,
        },
    ),
    "huey task": (
        "task",
        "",
        """
        from huey import RedisHuey
        huey = RedisHuey("x")
        @huey.task()
        def place(): CALL
        """,
        {},
    ),
    "huey periodic": (
        "task",
        "",
        """
        from huey import RedisHuey, crontab
        queue = RedisHuey("x")
        @queue.periodic_task(crontab(minute="1"))
        def place(): CALL
        """,
        {},
    ),
    "huey signal": (
        "task",
        "",
        """
        from huey import SqliteHuey
        huey = SqliteHuey("x")
        @huey.signal()
        def place(signal, task): CALL
        """,
        {},
    ),
    "huey on_startup": (
        "startup",
        "",
        """
        from huey import SqliteHuey
        huey = SqliteHuey("x")
        @huey.on_startup()
        def place(): CALL
        """,
        {},
    ),
    "rq job": (
        "task",
        "",
        """
        from rq.decorators import job
        @job("default")
        def place(): CALL
        """,
        {},
    ),
    "rq enqueue string": (
        "task",
        "",
        """
        from rq import Queue
        q = Queue()
        def ask(): q.enqueue("orders.place", 1)
        def place(): CALL
        """,
        {},
    ),
    "rq enqueue": (
        "task",
        "",
        """
        from rq import Queue
        q = Queue("high")
        def place(): CALL
        def ask(): q.enqueue(place, 1)
        """,
        {},
    ),
    "dramatiq actor": (
        "task",
        "",
        """
        import dramatiq
        @dramatiq.actor(queue_name="x")
        def place(): CALL
        """,
        {},
    ),
    "dramatiq actor call": (
        "task",
        "",
        """
        import dramatiq
        def place(): CALL
        actor = dramatiq.actor(place)
        """,
        {},
    ),
    "apscheduler gevent decorator": (
        "greenlet",
        "",
        """
        from apscheduler.schedulers.gevent import GeventScheduler
        s = GeventScheduler()
        @s.scheduled_job("interval", minutes=1)
        def poll(): CALL
        """,
        {},
    ),
    "apscheduler gevent add_job string": (
        "greenlet",
        "",
        """
        from apscheduler.schedulers.gevent import GeventScheduler
        s = GeventScheduler()
        def poll(): CALL
        s.add_job("orders:poll", "interval", minutes=1)
        """,
        {},
    ),
    "flask-apscheduler task": (
        "greenlet",
        "",
        """
        from flask_apscheduler import APScheduler
        scheduler = APScheduler()
        @scheduler.task("interval", id="x")
        def poll(): CALL
        """,
        {},
    ),
    "locust user": (
        "greenlet",
        "",
        """
        from locust import HttpUser, task
        class U(HttpUser):
            @task
            def place(self): CALL
        """,
        {},
    ),
    "locust on_start": (
        "greenlet",
        "",
        """
        from locust import HttpUser, task
        class U(HttpUser):
            def on_start(self): CALL
        """,
        {},
    ),
    "locust taskset": (
        "greenlet",
        "",
        """
        from locust import HttpLocust, TaskSet
        def login(l): CALL
        class B(TaskSet):
            tasks = {login: 1}
        """,
        {},
    ),
    "locust event": (
        "greenlet",
        "",
        """
        from locust import events
        @events.request.add_listener
        def log(**kw): CALL
        """,
        {},
    ),
    "locust init": (
        "startup",
        "",
        """
        from locust import events
        @events.init.add_listener
        def log(**kw): CALL
        """,
        {},
    ),
    "zerorpc object": (
        "request",
        "",
        """
        import zerorpc
        class S:
            def place(self): CALL
        zerorpc.Server(S()).run()
        """,
        {},
    ),
    "zerorpc subclass": (
        "request",
        "",
        """
        import zerorpc
        class S(zerorpc.Server):
            def place(self): CALL
        """,
        {},
    ),
    "kombu ConsumerMixin": (
        "task",
        "",
        """
        from kombu.mixins import ConsumerMixin
        class W(ConsumerMixin):
            def get_consumers(self, Consumer, channel):
                return [Consumer(queues=[], callbacks=[self.on_task])]
            def on_task(self, body, message): CALL
        W().run()
        """,
        {},
    ),
    "kombu consumer callback": (
        "task",
        "",
        """
        from kombu import Connection
        def process(body, message): CALL
        with Connection("x") as conn:
            with conn.Consumer(["q"], callbacks=[process]) as c:
                while True: conn.drain_events()
        """,
        {},
    ),
    "kombu register_callback": (
        "task",
        "",
        """
        from kombu import Connection, Consumer
        def process(body, message): CALL
        c = Consumer(Connection("x"))
        c.register_callback(process)
        """,
        {},
    ),
    "pika callback": (
        "greenlet",
        "",
        """
        import pika
        def on_message(ch, method, props, body): CALL
        ch = pika.BlockingConnection().channel()
        ch.basic_consume(queue="x", on_message_callback=on_message)
        ch.start_consuming()
        """,
        {},
    ),
    "paho mqtt": (
        "greenlet",
        "",
        """
        import paho.mqtt.client as mqtt
        def on_message(client, userdata, msg): CALL
        client = mqtt.Client()
        client.on_message = on_message
        client.loop_forever()
        """,
        {},
    ),
    "paho mqtt, a client of the project": (
        "greenlet",
        "",
        """
        import paho.mqtt.client as mqtt
        class Client(mqtt.Client): pass
        def on_message(client, userdata, msg): CALL
        client = Client()
        client.on_message = on_message
        client.loop_forever()
        """,
        {},
    ),
    "paho mqtt, a client that is not known": (
        "greenlet",
        "",
        """
        import paho.mqtt.client as mqtt
        def on_message(client, userdata, msg): CALL
        def listen(client): client.on_message = on_message
        """,
        {},
    ),
    "schedule": (
        "greenlet",
        "",
        """
        import schedule, time
        def poll(): CALL
        schedule.every(10).minutes.do(poll)
        while True:
            schedule.run_pending()
            time.sleep(1)
        """,
        {},
    ),
    "schedule decorator": (
        "greenlet",
        "",
        """
        import schedule
        @schedule.repeat(schedule.every(10).minutes)
        def poll(): CALL
        """,
        {},
    ),
    "gevent pool imap": (
        "greenlet",
        "",
        """
        from gevent.pool import Pool
        def poll(x): CALL
        list(Pool(3).imap_unordered(poll, range(3)))
        """,
        {},
    ),
    "gevent group": (
        "greenlet",
        "",
        """
        import gevent.pool
        g = gevent.pool.Group()
        def poll(x): CALL
        g.map(poll, range(3))
        """,
        {},
    ),
    "gevent spawn_later": (
        "greenlet",
        "",
        """
        import gevent
        def poll(x): CALL
        gevent.spawn_later(5, poll, 1)
        """,
        {},
    ),
    "gevent link": (
        "hub",
        "",
        """
        import gevent
        def done(g): CALL
        g = gevent.spawn(print)
        g.link(done)
        """,
        {},
    ),
    "gevent rawlink": (
        "hub",
        "",
        """
        import gevent
        def done(g): CALL
        g = gevent.spawn(print)
        g.rawlink(done)
        """,
        {},
    ),
    "gevent timer watcher": (
        "hub",
        "",
        """
        import gevent
        def tick(): CALL
        t = gevent.get_hub().loop.timer(1, 1)
        t.start(tick)
        """,
        {},
    ),
    "gevent io watcher": (
        "hub",
        "",
        """
        from gevent import get_hub
        def tick(): CALL
        loop = get_hub().loop
        w = loop.io(0, 1)
        w.start(tick)
        """,
        {},
    ),
    "gevent signal_handler": (
        "shutdown",
        "",
        """
        import gevent, signal
        def stop(): CALL
        gevent.signal_handler(signal.SIGTERM, stop)
        """,
        {},
    ),
    "gevent greenlet.greenlet raw": (
        "greenlet",
        "",
        """
        from greenlet import greenlet
        def f(): CALL
        greenlet(f).switch()
        """,
        {},
    ),
    "threading executor initializer": (
        "greenlet",
        "",
        """
        from gevent import monkey; monkey.patch_all()
        from concurrent.futures import ThreadPoolExecutor
        def f(): CALL
        ThreadPoolExecutor(3, initializer=f)
        """,
        {},
    ),
    "future callback": (
        "greenlet",
        "",
        """
        from gevent import monkey; monkey.patch_all()
        from concurrent.futures import ThreadPoolExecutor
        def f(fut): CALL
        ThreadPoolExecutor(3).submit(print).add_done_callback(f)
        """,
        {},
    ),
    "mp process": (
        "other-process",
        "",
        """
        import multiprocessing as mp
        def f(): CALL
        mp.Process(target=f).start()
        """,
        {},
    ),
    "mp context process": (
        "other-process",
        "",
        """
        import multiprocessing as mp
        def f(): CALL
        mp.get_context("spawn").Process(target=f).start()
        """,
        {},
    ),
    "mp ctx pool apply": (
        "other-process",
        "",
        """
        import multiprocessing as mp
        def f(x): CALL
        ctx = mp.get_context("spawn")
        with ctx.Pool(3) as pool:
            pool.map(f, [1])
        """,
        {},
    ),
    "mp Pool starmap_async": (
        "other-process",
        "",
        """
        from multiprocessing import Pool
        def f(x): CALL
        Pool(3).starmap_async(f, [(1,)])
        """,
        {},
    ),
    "mp Pool module pool": (
        "other-process",
        "",
        """
        from multiprocessing.pool import Pool
        def f(x): CALL
        Pool(3).imap(f, [1])
        """,
        {},
    ),
    "mp SpawnProcess subclass": (
        "other-process",
        "",
        """
        import multiprocessing
        class W(multiprocessing.get_context("spawn").Process):
            def run(self): CALL
        """,
        {},
    ),
    "mp context SpawnProcess subclass": (
        "other-process",
        "",
        """
        from multiprocessing.context import SpawnProcess
        class W(SpawnProcess):
            def run(self): CALL
        """,
        {},
    ),
    "mp set_start_method": (
        "other-process",
        "",
        """
        import multiprocessing
        multiprocessing.set_start_method("spawn")
        def f(): CALL
        multiprocessing.Process(target=f).start()
        """,
        {},
    ),
    "process executor": (
        "other-process",
        "",
        """
        from concurrent.futures import ProcessPoolExecutor
        def f(): CALL
        with ProcessPoolExecutor() as pool:
            pool.submit(f)
        """,
        {},
    ),
    "billiard process": (
        "other-process",
        "",
        """
        import billiard
        def f(): CALL
        billiard.Process(target=f).start()
        """,
        {},
    ),
    "gipc": (
        "greenlet",
        "",
        """
        import gipc
        def f(): CALL
        gipc.start_process(f)
        """,
        {},
    ),
    "eve hooks": (
        "request",
        "",
        """
        from eve import Eve
        app = Eve()
        def added(items): CALL
        app.on_insert_orders += added
        """,
        {},
    ),
    "eve hooks2": (
        "request",
        "",
        """
        from eve import Eve
        def added(resource, request, payload): CALL
        app = Eve()
        app.on_post_GET.append(added)
        """,
        {},
    ),
    "typer": (
        "command",
        "",
        """
        import typer
        app = typer.Typer()
        @app.command()
        def load(): CALL
        """,
        {},
    ),
    "argparse set_defaults": (
        "command",
        "",
        """
        import argparse
        def load(args): CALL
        p = argparse.ArgumentParser()
        s = p.add_subparsers()
        a = s.add_parser("load")
        a.set_defaults(func=load)
        args = p.parse_args()
        args.func(args)
        """,
        {},
    ),
    "fire": (
        "command",
        "",
        """
        import fire
        def load(): CALL
        if __name__ == "__main__":
            fire.Fire(load)
        """,
        {},
    ),
    "plac": (
        "command",
        "",
        """
        import plac
        def load(): CALL
        if __name__ == "__main__":
            plac.call(load)
        """,
        {},
    ),
    "celery command": (
        "command",
        "",
        """
        from celery.bin.base import Command
        class C(Command):
            def run(self): CALL
        """,
        {},
    ),
    "pytest plugin": (
        "test",
        "",
        """
        def pytest_configure(config): CALL
        """,
        {},
    ),
    "pytest plugin entry": (
        "test",
        "",
        """
        def pytest_configure(config): CALL
        """,
        {
            "setup.py": """
            from setuptools import setup
            setup(entry_points={'pytest11': ['x=orders']})
            """,
        },
    ),
    "ansible module": (
        "command",
        "",
        """
        from ansible.module_utils.basic import AnsibleModule
        def main():
            CALL
        if __name__ == "__main__":
            main()
        """,
        {},
    ),
    "tween class pyramid": (
        "request",
        "",
        """
        from pyramid.config import Configurator
        class Tween:
            def __init__(self, handler, registry): self.handler = handler
            def __call__(self, request):
                CALL
                return self.handler(request)
        def includeme(config):
            config.add_tween("orders.Tween")
        """,
        {},
    ),
    "webpy": (
        "request",
        "",
        """
        import web
        urls = ("/", "index")
        class index:
            def GET(self): CALL
        app = web.application(urls, globals())
        """,
        {},
    ),
    "dash": (
        "request",
        "",
        """
        import dash
        from dash import Input, Output
        page = dash.Dash(__name__)
        @page.callback(Output("total", "children"), Input("day", "value"))
        def total(day): CALL
        """,
        {},
    ),
    "dash in the background": (
        "other-process",
        "",
        """
        from dash import Input, Output, callback
        @callback(Output("total", "children"), Input("day", "value"), background=True)
        def total(day): CALL
        """,
        {},
    ),
    "cornice resource": (
        "request",
        "",
        """
        from cornice.resource import resource
        @resource(path="/orders")
        class Orders:
            def collection_get(self): CALL
        """,
        {},
    ),
    "a form of flask_wtf alone": (
        "request",
        "",
        """
        from flask_wtf import FlaskForm
        class Order(FlaskForm):
            def validate_amount(self, field): CALL
        """,
        {},
    ),
    "flask_restful argument": (
        "request",
        "",
        """
        from flask_restful import reqparse
        def amount(text): CALL
        parser = reqparse.RequestParser()
        parser.add_argument("amount", type=amount)
        """,
        {},
    ),
    "flask_restful_swagger_2": (
        "request",
        "",
        """
        from flask_restful_swagger_2 import Api, Resource
        class Orders(Resource):
            def post(self): CALL
        Api(None).add_resource(Orders, "/orders")
        """,
        {},
    ),
    "webapp2": (
        "request",
        "",
        """
        import webapp2
        class Orders(webapp2.RequestHandler):
            def get(self): CALL
        app = webapp2.WSGIApplication([("/orders", Orders)])
        """,
        {},
    ),
    "line": (
        "request",
        "",
        """
        from linebot.v3 import WebhookHandler
        from linebot.v3.webhooks import MessageEvent
        handler = WebhookHandler("secret")
        @handler.add(MessageEvent)
        def answer(event): CALL
        """,
        {},
    ),
    "hug": (
        "request",
        "",
        """
        import hug
        @hug.get()
        def place(): CALL
        """,
        {},
    ),
    "starlette": (
        "other-process",
        "",
        """
        from starlette.applications import Starlette
        from starlette.routing import Route
        def home(request): CALL
        app = Starlette(routes=[Route("/", home)])
        """,
        {},
    ),
    "spyne": (
        "request",
        "",
        """
        from spyne import ServiceBase, rpc
        class S(ServiceBase):
            @rpc()
            def place(ctx): CALL
        """,
        {},
    ),
    "jsonrpc": (
        "request",
        "",
        """
        from jsonrpc import dispatcher
        @dispatcher.add_method
        def place(): CALL
        """,
        {},
    ),
    "xmlrpc": (
        "request",
        "",
        """
        from xmlrpc.server import SimpleXMLRPCServer
        def place(): CALL
        s = SimpleXMLRPCServer(("",1))
        s.register_function(place)
        s.serve_forever()
        """,
        {},
    ),
    "pygeoapi process": (
        "request",
        "",
        """
        from pygeoapi.process.base import BaseProcessor
        class Chart(BaseProcessor):
            def execute(self, data): CALL
        """,
        {},
    ),
    "pygeoapi provider": (
        "request",
        "",
        """
        from pygeoapi.provider.base import BaseProvider
        class Stations(BaseProvider):
            def query(self, **kwargs): CALL
        """,
        {},
    ),
    "pywps process": (
        "request",
        "",
        """
        from pywps import Process
        class Buffer(Process):
            def _handler(self, request, response): CALL
        """,
        {},
    ),
    "pywps process with a handler of its own": (
        "request",
        "",
        """
        from pywps import Process
        def buffer(request, response): CALL
        PROCESSES = [Process(buffer, "buffer", "Buffer")]
        """,
        {},
    ),
    "label studio's model": (
        "request",
        "",
        """
        from label_studio_ml.model import LabelStudioMLBase
        class Labels(LabelStudioMLBase):
            def predict(self, tasks, context=None, **kwargs): CALL
        """,
        {},
    ),
    "wsgidav provider": (
        "request",
        "",
        """
        from wsgidav.dav_provider import DAVProvider
        class Archive(DAVProvider):
            def get_resource_inst(self, path, environ): CALL
        """,
        {},
    ),
    "apiflask": (
        "request",
        "POST /orders",
        """
        from apiflask import APIBlueprint
        v1 = APIBlueprint("v1", __name__)
        @v1.post("/orders")
        def place(): CALL
        """,
        {},
    ),
    "flask-classful": (
        "request",
        "",
        """
        from flask_classful import FlaskView
        class Orders(FlaskView):
            def post(self): CALL
        """,
        {},
    ),
    "flask-openapi3": (
        "request",
        "POST /orders",
        """
        from flask_openapi3 import OpenAPI
        app = OpenAPI(__name__)
        @app.post("/orders")
        def place(): CALL
        """,
        {},
    ),
    "flask-security form": (
        "request",
        "",
        """
        from flask_security import LoginForm, Security
        class Login(LoginForm):
            def validate(self, **kwargs): CALL
        Security(None, None, login_form=Login)
        """,
        {},
    ),
    "flask-login loader": (
        "request",
        "",
        """
        from flask_login import LoginManager
        lm = LoginManager()
        @lm.user_loader
        def load(id): CALL
        """,
        {},
    ),
    "flask-admin": (
        "request",
        "",
        """
        from flask_admin import BaseView, expose
        class V(BaseView):
            @expose("/")
            def index(self): CALL
        """,
        {},
    ),
    "flask-caching cached": (
        "request",
        "",
        """
        from flask import Flask
        from flask_caching import Cache
        app = Flask(__name__)
        cache = Cache(app)
        @app.route("/")
        def place(): return compute()
        @cache.memoize(50)
        def compute(): CALL
        """,
        {},
    ),
    "flask-sock": (
        "request",
        "",
        """
        from flask_sock import Sock
        sock = Sock()
        @sock.route("/echo")
        def echo(ws): CALL
        """,
        {},
    ),
    "flask-jwt loader": (
        "request",
        "",
        """
        from flask_jwt_extended import JWTManager
        jwt = JWTManager()
        @jwt.user_lookup_loader
        def load(h, p): CALL
        """,
        {},
    ),
    "flask-jwt blocklist": (
        "request",
        "",
        """
        from flask_jwt_extended import JWTManager
        jwt = JWTManager()
        @jwt.token_in_blocklist_loader
        def load(h, p): CALL
        """,
        {},
    ),
    "marshmallow": (
        "request",
        "",
        """
        from marshmallow import Schema, validates, post_load
        from flask import Flask
        class S(Schema):
            @post_load
            def make(self, data): CALL
        """,
        {},
    ),
    "sqlalchemy event": (
        "request",
        "",
        """
        from sqlalchemy import event
        def hook(conn): CALL
        event.listen(object, "connect", hook)
        """,
        {},
    ),
    "watchdog": (
        "greenlet",
        "",
        """
        from watchdog.events import FileSystemEventHandler
        class H(FileSystemEventHandler):
            def on_modified(self, e): CALL
        """,
        {},
    ),
    "gunicorn logger": (
        "request",
        "",
        """
        from gunicorn.glogging import Logger
        class L(Logger):
            def access(self, resp, req, environ, request_time): CALL
        """,
        {},
    ),
    "django-ninja": (
        "request",
        "",
        """
        from ninja import NinjaAPI
        api = NinjaAPI()
        @api.get("/a")
        def a(request): CALL
        """,
        {},
    ),
    "django-ninja router": (
        "request",
        "",
        """
        from ninja import Router
        router = Router()
        @router.post("/a")
        def a(request): CALL
        """,
        {},
    ),
    "django storage": (
        "request",
        "",
        """
        from django.core.files.storage import Storage
        class Objects(Storage):
            def _save(self, name, content): CALL
        """,
        {},
    ),
    "django cache": (
        "request",
        "",
        """
        from django.core.cache.backends.base import BaseCache
        class Cache(BaseCache):
            def get(self, key, default=None, version=None): CALL
        """,
        {},
    ),
    "django mail": (
        "request",
        "",
        """
        from django.core.mail.backends.base import BaseEmailBackend
        class Mail(BaseEmailBackend):
            def send_messages(self, messages): CALL
        """,
        {},
    ),
    "django mixin": (
        "request",
        "",
        """
        from django.views import View
        class Audited:
            def dispatch(self, request): CALL
        class Orders(Audited, View):
            def get(self, request): pass
        """,
        {},
    ),
    "rest_framework mixin": (
        "request",
        "",
        """
        from rest_framework.viewsets import ModelViewSet
        class Audited:
            def perform_create(self, serializer): CALL
        class Base(Audited, ModelViewSet): pass
        """,
        {},
    ),
    "thread mixin": (
        "greenlet",
        "",
        """
        from gevent import Greenlet
        class Loud:
            def _run(self): CALL
        class Worker(Loud, Greenlet): pass
        Worker().start()
        """,
        {},
    ),
    "allauth": (
        "request",
        "",
        """
        from allauth.account.adapter import DefaultAccountAdapter
        class Adapter(DefaultAccountAdapter):
            def send_mail(self, *given): CALL
        """,
        {},
    ),
    "django-filter": (
        "request",
        "",
        """
        import django_filters
        class Orders(django_filters.FilterSet):
            def by_name(self, queryset, name, value): CALL
        """,
        {},
    ),
    "haystack": (
        "task",
        "",
        """
        from haystack import indexes
        class Orders(indexes.SearchIndex):
            def prepare_name(self, one): CALL
        """,
        {},
    ),
    "import-export": (
        "request",
        "",
        """
        from import_export import resources
        class Orders(resources.ModelResource):
            def before_import_row(self, row): CALL
        """,
        {},
    ),
    "oauth-toolkit": (
        "request",
        "",
        """
        from oauth2_provider.oauth2_validators import OAuth2Validator
        class Check(OAuth2Validator):
            def validate_user(self, *given): CALL
        """,
        {},
    ),
    "oauthlib": (
        "request",
        "",
        """
        from oauthlib.oauth2 import RequestValidator
        class Check(RequestValidator):
            def validate_user(self, *given): CALL
        """,
        {},
    ),
    "authlib": (
        "request",
        "",
        """
        from authlib.oauth2.rfc6749 import grants
        class Check(grants.ResourceOwnerPasswordCredentialsGrant):
            def authenticate_user(self, *given): CALL
        """,
        {},
    ),
    "authlib-tokens": (
        "request",
        "",
        """
        from authlib.oauth2.rfc6750 import BearerTokenValidator
        class Check(BearerTokenValidator):
            def authenticate_token(self, *given): CALL
        """,
        {},
    ),
    "nmoscommon": (
        "request",
        "",
        """
        from nmoscommon.webapi import WebAPI, route
        class Orders(WebAPI):
            @route("/orders")
            def show(self): CALL
        """,
        {},
    ),
    "disco": (
        "greenlet",
        "",
        """
        from disco.bot import Plugin as Base
        class Plugin(Base): pass
        class Orders(Plugin):
            @Plugin.command("place", "<count:int>")
            def place(self, event, count): CALL
        """,
        {},
    ),
    "tastypie": (
        "request",
        "",
        """
        from tastypie.resources import ModelResource
        class Orders(ModelResource):
            def hydrate(self, bundle): CALL
        """,
        {},
    ),
    "social-auth": (
        "request",
        "",
        """
        from social_core.backends.oauth import BaseOAuth2
        class Own(BaseOAuth2):
            def user_data(self, token): CALL
        """,
        {},
    ),
    "wagtail": (
        "request",
        "",
        """
        from wagtail.models import Page
        class Home(Page):
            def serve(self, request): CALL
        """,
        {},
    ),
    "dnslib": (
        "request",
        "",
        """
        from dnslib.server import BaseResolver
        class Names(BaseResolver):
            def resolve(self, request, handler): CALL
        """,
        {},
    ),
    "gnsq": (
        "greenlet",
        "",
        """
        import gnsq
        consumer = gnsq.Consumer("topic", "channel")
        @consumer.on_message.connect
        def handle(consumer, message): CALL
        """,
        {},
    ),
    "amqpstorm": (
        "greenlet",
        "",
        """
        import amqpstorm
        def handle(message): CALL
        channel = amqpstorm.Connection("a", "b", "c").channel()
        channel.basic.consume(handle, "orders")
        """,
        {},
    ),
    "pyftpdlib": (
        "request",
        "",
        """
        from pyftpdlib.handlers import FTPHandler
        class Files(FTPHandler):
            def on_file_received(self, path): CALL
        """,
        {},
    ),
    "rpyc": (
        "request",
        "",
        """
        import rpyc
        class Orders(rpyc.Service):
            def exposed_place(self): CALL
        """,
        {},
    ),
    "pyro": (
        "request",
        "",
        """
        import Pyro5.api
        class Orders:
            @Pyro5.api.expose
            def place(self): CALL
        """,
        {},
    ),
    "pyro class": (
        "request",
        "",
        """
        import Pyro4
        @Pyro4.expose
        class Orders:
            def place(self): CALL
        """,
        {},
    ),
    "telebot": (
        "greenlet",
        "",
        """
        import telebot
        bot = telebot.TeleBot("")
        @bot.message_handler(commands=["start"])
        def start(message): CALL
        """,
        {},
    ),
    "slack": (
        "greenlet",
        "",
        """
        from slack_bolt import App
        app = App()
        @app.event("message")
        def heard(event): CALL
        """,
        {},
    ),
    "stomp": (
        "greenlet",
        "",
        """
        import stomp
        class Orders(stomp.ConnectionListener):
            def on_message(self, frame): CALL
        """,
        {},
    ),
    "websocket-client": (
        "greenlet",
        "",
        """
        import websocket
        def heard(ws, message): CALL
        websocket.WebSocketApp("ws://", on_message=heard).run_forever()
        """,
        {},
    ),
}


@pytest.mark.parametrize("title", APPLICATIONS)
def test_what_a_framework_starts_has_its_context(tmp_path, title):
    context, label, text, more = APPLICATIONS[title]
    found = reported(tmp_path, {"orders.py": text, **more})
    (one,) = [one for one in found if one.symbol == "os.system"]
    assert context == one.context
    if label:
        assert label == ways(one)[0]


DECORATORS = [
    (entry, symbol)
    for entry in CATALOG.entries
    for symbol in entry.decorators
    if "*" not in symbol and not symbol.startswith("_")
]


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.live)])
@pytest.mark.parametrize(
    "text",
    [
        "def run(x): CALL\ndef make():\n    {it}('/a')(run)\n",
        "def run(x): CALL\ndef make():\n    {it}('/a', callback=run)\n",
        "def make():\n    @{it}('/a')\n    def run(x): CALL\n    return run\n",
    ],
)
def test_a_decorator_starts_the_function_however_it_is_applied(tmp_path, text, step):
    """As ``bottle.get(path, callback=f)`` and ``app.route(path)(f)``: over the whole catalog."""
    files, wanted = {}, {}
    for number, (entry, symbol) in list(enumerate(DECORATORS))[::step]:
        owner, _, name = symbol.rpartition(".")
        module, _, cls = owner.rpartition(".")
        imported = f"from {owner} import {name} as decorator"
        it = "decorator"
        if module and cls[:1].isupper():
            imported, it = f"from {module} import {cls} as Owner", f"Owner().{name}"
        files[f"orders_{number}.py"] = f"{imported}\n{text.format(it=it)}"
        wanted[f"orders_{number}.py"] = entry.context
    found = {Path(one.filename).name: one.context for one in reported(tmp_path, files)}
    wrong = {
        DECORATORS[number * step][1]: found.get(name)
        for number, name in enumerate(files)
        if found.get(name) != wanted[name]
    }

    assert len(files) > 200 // step
    assert {} == wrong


METHODS = [
    (entry, symbol.rpartition("."))
    for entry, symbol in DECORATORS
    if symbol.rpartition(".")[0].rpartition(".")[2][:1].isupper()
    and symbol.rpartition(".")[0].count(".")
]


@pytest.mark.parametrize(
    "text",
    [
        "route = {cls}().{name}\n@route('/a')\ndef run(x): CALL\n",
        "from functools import partial\nroute = partial({cls}().{name}, '/a')\n"
        "@route()\ndef run(x): CALL\n",
        "class Routes:\n    def __init__(self): self.shorter = {cls}().{name}\n"
        "routes = Routes()\n@routes.shorter('/a')\ndef run(x): CALL\n",
    ],
)
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.live)])
def test_a_decorator_is_known_by_the_name_that_a_module_gives_it(tmp_path, text, step):
    files, wanted = {}, {}
    for number, (entry, (owner, _, name)) in list(enumerate(METHODS))[::step]:
        module, _, cls = owner.rpartition(".")
        text_ = f"from {module} import {cls}\n{text.format(cls=cls, name=name)}"
        files[f"orders_{number}.py"] = text_
        wanted[f"orders_{number}.py"] = entry.context
    found = {Path(one.filename).name: one.context for one in reported(tmp_path, files)}

    assert len(wanted) > 100 // step
    assert wanted == {name: found.get(name) for name in wanted}


@pytest.mark.parametrize("name", ["route", "add"])
def test_a_decorator_is_known_by_the_name_that_another_module_gives_it(tmp_path, name):
    files = {
        "app.py": f"from flask import Flask\napp = Flask(__name__)\n{name} = app.route\n",
        "orders.py": f"from app import {name} as r\n@r('/a')\ndef run(): CALL\n",
    }
    (one,) = reported(tmp_path, files)
    assert "request" == one.context


@pytest.mark.parametrize(
    "body",
    [
        "        def decorator(f): return super().{name}(*args, **kw)(kept(f))\n"
        "        return decorator\n",
        "        def decorator(f):\n            TABLE[args] = f\n            return f\n"
        "        return decorator\n",
        "        return self.noted(*args, **kw)\n"
        "    def noted(self, *args, **kw):\n"
        "        return super().{name}(*args, **kw)\n",
    ],
)
@pytest.mark.parametrize("used", ["{name}", "shorter"])
@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.live)])
def test_a_decorator_that_the_project_overrides_starts_what_the_framework_would(
    tmp_path, body, used, step
):
    """As ``class Routes(Blueprint)`` with a `get()` of its own: over the whole catalog."""
    files, wanted = {}, {}
    for number, (entry, (owner, _, name)) in list(enumerate(METHODS))[::step]:
        module, _, cls = owner.rpartition(".")
        own = f"import functools\nfrom {module} import {cls}\nTABLE = {{}}\n"
        own += "def kept(f):\n    @functools.wraps(f)\n    def g(*a): return f(*a)\n    return g\n"
        own += f"class Own({cls}):\n    def {name}(self, *args, **kw):\n{body.format(name=name)}"
        own += f"    def shorter(self, *args, **kw): return self.{name}(*args, **kw)\n"
        files[f"own_{number}.py"] = own
        files[f"orders_{number}.py"] = (
            f"from own_{number} import Own\nroutes = Own()\n"
            f"@routes.{used.format(name=name)}('/a')\ndef run(x): CALL\n"
        )
        wanted[f"orders_{number}.py"] = entry.context
    found = {Path(one.filename).name: one.context for one in reported(tmp_path, files)}
    wrong = {
        METHODS[int(name[7:-3])][1]: found.get(name)
        for name in wanted
        if found.get(name) != wanted[name]
    }

    assert len(wanted) > 100 // step
    assert {} == wrong


INHERITED = [
    (entry, base.rpartition("."), method)
    for entry in CATALOG.entries
    for base in entry.bases
    if "." in base and "*" not in base and not base.startswith("_") and not entry.parameters
    for method in [one for one in entry.methods or ("run",) if one.isidentifier()][:1]
    if not method.startswith("__")
]


@pytest.mark.parametrize(
    "text",
    [
        "class Orders({cls}):\n    def handle(self, *x): CALL\n    {method} = handle\n",
        "class Orders({cls}):\n    {method} = lambda self, *x: CALL\n",
        "def {method}(self, *x): CALL\nclass Orders({cls}):\n    {method} = {method}\n",
        "class Orders({cls}): pass\ndef handle(self, *x): CALL\nOrders.{method} = handle\n",
    ],
)
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.live)])
def test_a_method_is_known_however_its_class_gets_it(tmp_path, text, step):
    """As ``post = get`` in a view: over the whole catalog."""
    files, wanted, kept = {}, {}, {}
    for number, (entry, (module, _, cls), method) in list(enumerate(INHERITED))[::step]:
        body = text.format(cls=cls, method=method)
        files[f"orders_{number}.py"] = f"from {module} import {cls}\n{body}"
        wanted[f"orders_{number}.py"] = entry.context
        kept[f"other_{number}.py"] = f"class {cls}: pass\n{body}"  # a class of the same name
    found = {Path(one.filename).name: one.context for one in reported(tmp_path, files | kept)}

    assert len(wanted) > 50 // step
    assert wanted == {name: found.get(name) for name in wanted}
    assert {"unknown"} == {found[name] for name in kept}


TAKING = [
    (entry, one)
    for entry in CATALOG.entries
    for one in entry.arguments
    if "*" not in one.symbol and one.symbol.split(".")[-2][:1].isupper()
    if not one.symbol.endswith(".__init__")
]


@pytest.mark.parametrize(
    "body",
    [
        "return super().{name}(*args, **kw)",
        "kw.setdefault('x', 1); super(Own, self).{name}(*args, **kw)",
        "KEPT.append((args, kw))",
    ],
)
def test_a_function_that_an_overridden_method_takes_is_started(tmp_path, body):
    """As ``class App(Flask)`` with an `add_url_rule()` of its own: over the whole catalog."""
    files, wanted = {}, {}
    for number, (entry, one) in enumerate(TAKING):
        owner, _, name = one.symbol.rpartition(".")
        module, _, cls = owner.rpartition(".")
        own = f"from {module} import {cls}\nKEPT = []\nclass Own({cls}):\n"
        own += f"    def {name}(self, *args, **kw): {body.format(name=name)}\n"
        given_ = f"{one.keyword}=run" if one.position is None else "'x', " * one.position + "run"
        files[f"own_{number}.py"] = own
        files[f"orders_{number}.py"] = (
            f"from own_{number} import Own\nroutes = Own()\ndef run(*x): CALL\n"
            f"def make():\n    routes.{name}({given_})\n"
        )
        wanted[f"orders_{number}.py"] = entry.context
    found = {Path(one.filename).name: one.context for one in reported(tmp_path, files)}
    wrong = {name: found.get(name) for name in wanted if found.get(name) != wanted[name]}

    assert len(wanted) > 50
    assert {} == wrong


HANDED = [
    (entry, one)
    for entry in CATALOG.entries
    for one in entry.arguments
    if "*" not in one.symbol and one.symbol.count(".") and not one.symbol.endswith(".__init__")
    if not one.symbol.startswith(("threading.", "multiprocessing."))  # the process decides
]
PASSED_ON = {
    "as it comes": "def go(*args, **kw):\n    return {callee}(*args, **kw)\ngo({given})\n",
    "by two functions": "def on(*args, **kw): {callee}(*args, **kw)\n"
    "def go(*args, **kw): on(*args, **kw)\ngo({given})\n",
    "by a method": "class Own:\n    def go(self, *args, **kw):\n"
    "        return {callee}(*args, **kw)\nown = Own()\nown.go({given})\n",
    "as a display": "ARGS = [{positional}]\nKW = dict({keywords})\n{callee}(*ARGS, **KW)\n",
    "as displays in the call": "{callee}(*({positional}), **dict({keywords}))\n",
}


@pytest.mark.parametrize("form", PASSED_ON.values(), ids=PASSED_ON)
@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.live)])
def test_a_function_is_started_that_is_passed_on_in_args(tmp_path, form, step):
    """As ``def go(*args): return spawn(*args)``: over the whole catalog."""
    plain, passed = {}, {}
    for number, (_, one) in list(enumerate(HANDED))[::step]:
        owner, _, name = one.symbol.rpartition(".")
        callee, imported = name, f"from {owner} import {name}\n"
        if owner.rpartition(".")[2][:1].isupper():
            module, _, cls = owner.rpartition(".")
            callee, imported = f"made.{name}", f"from {module} import {cls}\nmade = {cls}()\n"
        positional = "" if one.position is None else "'x', " * one.position + "place, "
        keywords = f"{one.keyword}=place" if one.position is None else ""
        given_ = {"positional": positional, "keywords": keywords, "given": positional + keywords}
        text = f"{imported}def place(*x): CALL\n"
        plain[f"{number}.py"] = f"{text}{callee}({given_['given']})\n"
        passed[f"{number}.py"] = text + form.format(callee=callee, **given_)
    expected, found = (
        {
            (number := Path(one.filename).stem, HANDED[int(number)][1].symbol): one.context
            for one in reported(tmp_path / name, files)
        }
        for name, files in (("plain", plain), ("passed", passed))
    )
    wrong = {key[1]: found.get(key) for key in expected if expected[key] != found.get(key)}

    assert len(expected) > 150 // step
    assert {} == wrong


TABLES = {
    "a dict": ('ROUTES = {"/a": run}', "for path, one in ROUTES.items():", "one"),
    "a dict with tuples as keys": (
        'ROUTES = {("GET", "/a"): run}', "for (verb, path), one in ROUTES.items():", "one",
    ),
    "a dict of tuples": (
        'ROUTES = {"/a": ("GET", run)}', "for path, (verb, one) in ROUTES.items():", "one",
    ),
    "a dict of dicts": (
        'ROUTES = {"/a": {"GET": run}}', "for path, verbs in ROUTES.items():", "verbs['GET']",
    ),
    "a dict by its keys": ('ROUTES = {"/a": run}', "for path in ROUTES:", "ROUTES[path]"),
    "a list of tuples": ('ROUTES = [("/a", run)]', "for path, one in ROUTES:", "one"),
    "a list by index": ('ROUTES = [("/a", run)]', "for one in ROUTES:", "one[1]"),
    "a list of dicts": ('ROUTES = [{"run": run}]', "for one in ROUTES:", "one['run']"),
    "a list of objects": (
        "class Route:\n    def __init__(self, run): self.run = run\nROUTES = [Route(run)]",
        "for one in ROUTES:", "one.run",
    ),
    "a list of named tuples": (
        "from typing import NamedTuple\nclass Route(NamedTuple):\n    path: str\n    run: object\n"
        'ROUTES = [Route("/a", run)]',
        "for one in ROUTES:", "one.run",
    ),
    "a list in the loop": ("", 'for path, one in [("/a", run)]:', "one"),
    "a tuple in the loop": ("", "for one in (run,):", "one"),
    "a zip": ("ROUTES = [run]", 'for path, one in zip(["/a"], ROUTES):', "one"),
    "sorted": ('ROUTES = {"/a": run}', "for path, one in sorted(ROUTES.items()):", "one"),
}  # fmt: skip


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_what_a_table_keeps_and_a_loop_registers_has_its_context(tmp_path, table):
    written, loop, it = table
    registered = {
        "add_url_rule('/a', view_func={it})": ("flask", "Flask(__name__)"),
        "route('/a')({it})": ("flask", "Flask(__name__)"),
        "get('/a', callback={it})": ("bottle", "Bottle()"),
    }
    files = {}
    for number, (call, (framework, made)) in enumerate(registered.items()):
        files[f"handlers_{number}.py"] = "def run(): CALL\n"
        files[f"orders_{number}.py"] = (
            f"from {framework} import {made.partition('(')[0]}\n"
            f"from handlers_{number} import run\n{written}\n"
            f"def install():\n    app = {made}\n    {loop}\n        app.{call.format(it=it)}\n"
        )
    found = reported(tmp_path, files)
    assert ["request"] * len(registered) == [one.context for one in found]


WRAPPED = {
    "one of Django's": "ensure_csrf_cookie(place)",
    "two of Django's": "csrf_exempt(xframe_options_exempt(place))",
    "one with arguments": "vary_on_headers('Accept')(place)",
    "one of another package": "throttled(place)",
    "one of another package with arguments": "throttled(rate=2)(place)",
    "one with a keyword": "throttled(place, rate=2)",
    "one of the project": "audited(place)",
    "one of the project around another": "audited(throttled(place))",
    "one of another package around the project's": "throttled(audited(place))",
    "one of the project that applies another": "limited(place)",
    "a partial": "partial(place, verb='GET')",
    "a wrapped partial": "throttled(partial(place, verb='GET'))",
    "a name": "VIEW",
}
NOT_WRAPPED = {
    "a view that is given the result of a function": "throttled(TemplateView.as_view(it=place()))",
    "a function that a builder of the project calls": "built(place)",
    "a function beside the view": "other, {'load': throttled(place)}",
}
DECORATING = """
from functools import partial, wraps
from django.views.decorators.csrf import csrf_exempt, ensure_csrf_cookie
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.vary import vary_on_headers
from django.views.generic import TemplateView
from throttling import throttled
from handlers import place

def other(request): pass

def audited(view):
    @wraps(view)
    def wrapper(request):
        return view(request)
    return wrapper

def limited(view):
    return throttled(view, rate=1)

def built(load):
    rows = load()
    return TemplateView.as_view(extra_context={"rows": rows})

VIEW = throttled(place)
"""
TABLES_OF_URLS = {
    "from django.urls import path\n": "urlpatterns = [path('a', {it})]\n",
    "from django.urls import re_path\n": "urlpatterns = [re_path('a', view={it})]\n",
    "from django.conf.urls import url\n": "urlpatterns = [url('a', {it}, name='a')]\n",
    "from flask import Flask\n": "app = Flask('a')\napp.add_url_rule('/a', view_func={it})\n",
    "from pyramid.config import Configurator\n": "Configurator('a').add_view({it})\n",
}


@pytest.mark.parametrize("form", [*WRAPPED, *NOT_WRAPPED])
def test_a_view_that_a_table_of_urls_wraps_is_a_view(tmp_path, form):
    it, files = {**WRAPPED, **NOT_WRAPPED}[form], {}
    for number, (imported, table) in enumerate(TABLES_OF_URLS.items()):
        if it.startswith("other, ") and "={it}" in table:
            continue  # it is an argument after the view
        text = DECORATING.replace("handlers", f"handlers_{number}")
        files[f"handlers_{number}.py"] = "def place(request=None): CALL\n"
        files[f"urls_{number}.py"] = imported + text + table.format(it=it)
    found = {one.context for one in reported(tmp_path, files) if one.symbol == "os.system"}
    assert (form in WRAPPED) == ({"request"} == found), found


UNLISTED = [entry for entry in CATALOG.entries if entry.unlisted]
ROUTING = sorted({symbol.rpartition(".")[2] for one in UNLISTED for symbol in one.decorators})
WITH_PATHS = [argument for one in UNLISTED for argument in one.arguments]
RESOURCES = [(base, name) for one in UNLISTED for base in one.bases for name in one.methods]
UNLISTED_OWNERS = {
    "a package": "import acme_web as web\n",
    "an object of a package": "from acme_web import Api\nweb = Api()\n",
    "an unknown object": "from plugins import found\nweb = found['web']()\n",
}
LISTED_OWNERS = {
    "asyncio": "import aiohttp.web as web\n",
    "the standard library": "import http.server as web\n",
}
KINDS_OF_OWNERS = [(owner, True) for owner in UNLISTED_OWNERS] + [
    (owner, False) for owner in LISTED_OWNERS
]


@pytest.mark.parametrize(("owner", "is_started"), KINDS_OF_OWNERS)
@pytest.mark.parametrize(
    ("text", "is_routed"),
    [
        ("@web.{name}('/orders')\ndef run(x): CALL\n", True),
        ("@web.{name}('/orders', methods=['POST'])\nclass Orders:\n    def run(x): CALL\n", True),
        ("def make(x):\n    @web.{name}(path='/orders')\n    def run(x): CALL\n", True),
        ("@web.{name}('orders')\ndef run(x): CALL\n", False),
        ("@web.{name}\ndef run(x): CALL\n", False),
        ("@web.{name}(PATH)\ndef run(x): CALL\n", False),
        ("@web.{name}('/orders')\nasync def run(x): CALL\n", False),
    ],
)
def test_a_decorator_of_any_package_with_a_path_is_a_route(
    tmp_path, owner, is_started, text, is_routed
):
    before = {**UNLISTED_OWNERS, **LISTED_OWNERS}[owner]
    files = {f"orders_{name}.py": before + text.format(name=name) for name in ROUTING}
    found = reported(tmp_path, files)
    contexts = {one.context for one in found if one.symbol == "os.system"}
    assert len(ROUTING) == len(found) > 10
    assert (contexts == {"request"}) is (is_started and is_routed), contexts
    assert is_started or "request" not in contexts


@pytest.mark.parametrize(("owner", "is_started"), KINDS_OF_OWNERS)
@pytest.mark.parametrize(("first", "is_routed"), [("'/orders'", True), ("'orders'", False)])
def test_a_function_that_any_package_takes_with_a_path_is_a_route(
    tmp_path, owner, is_started, first, is_routed
):
    before = {**UNLISTED_OWNERS, **LISTED_OWNERS}[owner]
    files = {}
    for number, one in enumerate(WITH_PATHS):
        name = one.symbol.rpartition(".")[2]
        given = ", ".join(["None"] * (one.position - 1) + ["run"])
        for form, passed in enumerate((given, f"{one.keyword}=run")):
            call = f"web.{name}({first}, {passed})\n"
            files[f"orders_{number}_{form}.py"] = f"{before}def run(x): CALL\n{call}"
    found = reported(tmp_path, files)
    contexts = {one.context for one in found if one.symbol == "os.system"}
    assert len(files) == len(found)
    assert (contexts == {"request"}) is (is_started and is_routed), contexts
    assert is_started or "request" not in contexts


@pytest.mark.parametrize(
    ("base", "is_started"),
    [("acme_web.{}", True), ("acme_web.Base{}", True), ("acme_web.{}s", False), ("object", False)],
)
def test_a_resource_of_any_package_handles_requests(tmp_path, base, is_started):
    files = {
        f"orders_{number}.py": "import acme_web\n"
        f"class Orders({base.format(one.rpartition('*')[2])}):\n    def {name}(self): CALL\n"
        for number, (one, name) in enumerate(RESOURCES)
    }
    found = reported(tmp_path, files)
    assert len(RESOURCES) == len(found) > 10
    assert ({one.context for one in found} == {"request"}) is is_started


BELOW_FLASK = sorted(
    {
        (one.symbols[0], symbol)
        for one in CATALOG.blockers
        for symbol in one.symbols
        if symbol.startswith("flask_") and symbol.rpartition(".")[2].islower()
        if symbol.count(".") == 1 and one.level != "off" and not one.only
    }
)


def test_a_module_below_flask_ext_is_the_package_of_today(tmp_path):
    """As Flask before 1.0 imported it: over all functions of such packages in the catalog."""
    files = {
        f"orders_{number}.py": "import flask\n"
        f"from flask.ext.{symbol.partition('.')[0].removeprefix('flask_')} "
        f"import {symbol.rpartition('.')[2]} as it\n"
        "def place(x): it(x, x)\n"
        for number, (_, symbol) in enumerate(BELOW_FLASK)
    }
    found = reported(tmp_path, {**files, "main.py": "import gevent\n"})
    assert BELOW_FLASK
    assert {Path(one.filename).name for one in found} == files.keys()
