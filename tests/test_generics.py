"""Generic classes of libraries: the objects that query sets, managers and fields are about."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from harness import CATALOG, inferring, symbols

from gblock.catalog.libraries import ELEMENT, ELEMENTS, ONE_OR_MANY, TYPE
from gblock.project.names import values as v
from gblock.project.names.places import Place
from gblock.project.reading.expressions import last_name

DJANGO = """\
    from django.db import models
    from django.shortcuts import get_list_or_404, get_object_or_404

    class Orders(models.Manager):
        def open(self):
            return self.filter(open=True)

    class Rows(models.QuerySet):
        def last_one(self):
            return self.order_by("pk").last()

    class Customer(models.Model):
        def mark(self): ...

    class Tag(models.Model):
        objects = Rows.as_manager()
        def mark(self): ...

    class Order(models.Model):
        customer = models.ForeignKey(Customer, models.CASCADE, related_name="orders")
        previous = models.ForeignKey("self", models.CASCADE)
        invoice = models.OneToOneField("shop.Invoice", models.CASCADE, related_name="order")
        tags = models.ManyToManyField(Tag)
        objects = Orders()
        def mark(self): ...

    class Invoice(models.Model):
        customer = models.ForeignKey(to="Customer", on_delete=models.CASCADE)
        def mark(self): ...

    """
SQLALCHEMY = """\
    from sqlalchemy import ForeignKey, create_engine, select
    from sqlalchemy.orm import declarative_base, relationship, scoped_session, sessionmaker

    Session = scoped_session(sessionmaker())
    Base = declarative_base()
    Base.query = Session.query_property()

    class Customer(Base):
        orders = relationship("Order", back_populates="customer")
        archive = relationship("Order", lazy="dynamic")
        def mark(self): ...

    class Order(Base):
        customer = relationship(Customer)
        def mark(self): ...

    """
FLASK = """\
    from flask_sqlalchemy import SQLAlchemy

    db = SQLAlchemy()

    class Customer(db.Model):
        orders = db.relationship("Order", lazy="dynamic")
        def mark(self): ...

    class Order(db.Model):
        customer = db.relationship(Customer)
        def mark(self): ...

    """
PEEWEE = """\
    from peewee import ForeignKeyField, Model

    class Customer(Model):
        def mark(self): ...

    class Order(Model):
        customer = ForeignKeyField(Customer, backref="orders")
        def mark(self): ...

    class Line(Model):
        order = ForeignKeyField(Order)
        def mark(self): ...

    """
FORMS = {
    DJANGO: [
        "Order.objects.get(pk=1).mark()",
        "Order.objects.open().first().mark()",
        "Order.objects.filter(a=1).exclude(b=2).select_related('c').latest().mark()",
        "Order._default_manager.create().mark()",
        "Order.objects.get_or_create(a=1)[0].mark()",
        "Order.objects.all()[0].mark()",
        "Order.objects.all()[:5][0].mark()",
        "for order in Order.objects.all(): order.mark()",
        "for order in Order.objects.filter(a=1).iterator(): order.mark()",
        "[order.mark() for order in Order.objects.raw('select 1')]",
        "get_object_or_404(Order, pk=1).mark()",
        "get_object_or_404(Order.objects.filter(a=1), pk=1).mark()",
        "get_list_or_404(klass=Order)[0].mark()",
        "Order.objects.get(pk=1).customer.mark()",
        "Order.objects.get(pk=1).previous.previous.mark()",
        "Order.objects.get(pk=1).invoice.mark()",
        "Order.objects.get(pk=1).tags.first().mark()",
        "Order.objects.get(pk=1).tags.create().mark()",
        "Customer.objects.get(pk=1).orders.first().mark()",
        "Customer.objects.get(pk=1).invoice_set.filter(a=1).first().mark()",
        "Invoice.objects.get(pk=1).order.mark()",
        "Tag.objects.get(pk=1).order_set.first().mark()",
        "Tag.objects.last_one().mark()",
        "Tag.objects.filter(a=1).last_one().mark()",
        "Tag.objects.filter(a=1).order_by(1).first().mark()",
        "def f(order: Order): order.customer.mark()",
    ],
    SQLALCHEMY: [
        "Session.query(Order).first().mark()",
        "Session.query(Order).filter(a=1).join(Customer).group_by(1).one().mark()",
        "for order in Session.query(Order).all(): order.mark()",
        "for order in Session.query(Order).yield_per(10): order.mark()",
        "Session.get(Order, 1).mark()",
        "Session.merge(Order()).mark()",
        "Session.scalars(select(Order).where(a=1)).first().mark()",
        "Session.execute(select(Order)).scalar_one().mark()",
        "for order in Session.execute(select(Order)).scalars().all(): order.mark()",
        "Session.scalar(select(Order)).mark()",
        "Order.query.filter_by(a=1).first().mark()",
        "Order.query.get(1).mark()",
        "for order in Customer.query.first().orders: order.mark()",
        "for order in Customer.query.first().archive: order.mark()",
        "Customer.query.first().archive.filter_by(a=1).first().mark()",
    ],
    FLASK: [
        "Order.query.filter_by(a=1).first().mark()",
        "Order.query.first().customer.mark()",
        "Customer.query.first().orders.filter_by(a=1).first().mark()",
        "for order in Customer.query.first().orders: order.mark()",
        "db.get_or_404(Order, 1).mark()",
        "db.first_or_404(db.select(Order)).mark()",
        "db.session.scalars(db.select(Order)).first().mark()",
    ],
    PEEWEE: [
        "Order.get(1).mark()",
        "Order.get_or_none(1).mark()",
        "Order.create().mark()",
        "Order.get_or_create(a=1)[0].mark()",
        "Order.select().where(1).join(Customer).first().mark()",
        "for order in Order.select().order_by(1).iterator(): order.mark()",
        "Order.get(1).customer.mark()",
        "for order in Customer.get(1).orders: order.mark()",
        "Order.get(1).line_set.first().mark()",
    ],
}


@pytest.mark.parametrize(
    ("models", "form"), [(models, form) for models in FORMS for form in FORMS[models]]
)
def test_the_object_of_a_query_is_known(tmp_path: Path, models: str, form: str):
    assert ["mark"] == called(tmp_path, models, form)


def called(root: Path, models: str, form: str) -> list[str]:
    """The methods of the project that the call of ``mark`` in the last row can run."""
    inference = inferring(root, {"shop.py": textwrap.dedent(models) + form + "\n"})
    path = str(root / "shop.py")
    summary = inference.modules.summary(path)
    calls = [one for one in summary.calls if one.node == "call"]
    (call,) = (one for one in calls if last_name(one.expression.callee) == "mark")
    values = inference.infer(call.expression.callee, Place(path, call.scope, call.path))
    return sorted({summary.scopes[x.scope].name for x in values if x.kind == v.FUNCTION})


OTHERS = [
    "Customer.objects.get(pk=1).tags.first().mark()",
    "Order.objects.get(pk=1).missing.first().mark()",
    "Order.objects.count().mark()",
    "unknown(Order).first().mark()",
    "Customer.objects.get(pk=1).order_set.first().mark()",
]


@pytest.mark.parametrize("form", OTHERS)
def test_what_leads_to_no_model_gives_no_object(tmp_path: Path, form: str):
    assert [] == called(tmp_path, DJANGO, form)


REQUESTS = """\
    from django.contrib.auth.mixins import LoginRequiredMixin
    from django.shortcuts import redirect
    from django.views import View
    from django.views.generic import DetailView, FormView
    from rest_framework import serializers
    from rest_framework.views import APIView

    """
PASSWORD = "django.contrib.auth.base_user.AbstractBaseUser.check_password"
USERS = [
    "def view(request): request.user.check_password('x')",
    "def view(request, pk):\n    user = request.user\n    user.check_password('x')",
    "class V(View):\n    def post(self, request): request.user.check_password('x')",
    "class V(View):\n    def post(self, *args): self.request.user.check_password('x')",
    "class V(LoginRequiredMixin, FormView):\n"
    "    def form_valid(self, form): self.request.user.check_password('x')",
    "class Mixin:\n    def check(self): self.request.user.check_password('x')",
    "class V(APIView):\n    def post(self, request, *a, **k): request.user.check_password('x')",
    "def change(user): user.check_password('x')\ndef view(request): change(request.user)",
    "class S(serializers.Serializer):\n"
    "    def validate(self, data): self.context['request'].user.check_password('x')",
    "class S(serializers.ModelSerializer):\n"
    "    def validate(self, data): self.context.get('request').user.check_password('x')",
    "class Middleware:\n    def __call__(self, request): request.user.check_password('x')",
]


@pytest.mark.parametrize("form", USERS)
def test_the_user_of_a_request_is_known(tmp_path: Path, form: str):
    inference = inferring(tmp_path, {"shop.py": textwrap.dedent(REQUESTS) + form + "\n"})
    assert any(PASSWORD in found for _, found in symbols(inference, tmp_path / "shop.py"))


VIEWS = [
    "class V(DetailView):\n    model = Order\n    def get(self, r): self.get_object().mark()",
    "class V(DetailView):\n    model = Order\n    def get(self, r): self.object.mark()",
    "class V(UpdateView):\n    queryset = Order.objects.all()\n"
    "    def get(self, r): self.get_object().mark()",
    "class V(DetailView):\n    def get_queryset(self): return Order.objects.filter(a=1)\n"
    "    def get(self, r): self.get_object().mark()",
    "class F(ModelForm):\n    class Meta:\n        model = Order\n"
    "class V(CreateView):\n    form_class = F\n"
    "    def form_valid(self, form): form.save().mark()",
    "class V(ModelViewSet):\n    queryset = Order.objects.all()\n"
    "    def close(self, r): self.get_object().mark()",
    "class V(DestroyAPIView):\n    queryset = Order.objects.all()\n"
    "    def perform_destroy(self, order): order.mark()",
    "class S(ModelSerializer):\n    class Meta:\n        model = Order\n"
    "class V(CreateAPIView):\n    serializer_class = S\n"
    "    def perform_create(self, serializer): serializer.save().mark()",
    "class S(ModelSerializer):\n    class Meta:\n        model = Order\n"
    "    def update(self, order, data): order.mark()",
]
IMPORTS = """\
    from django.forms import ModelForm
    from django.views.generic import CreateView, DetailView, UpdateView
    from rest_framework.generics import CreateAPIView, DestroyAPIView
    from rest_framework.serializers import ModelSerializer
    from rest_framework.viewsets import ModelViewSet
"""


@pytest.mark.parametrize("form", VIEWS)
def test_a_view_knows_the_objects_that_it_names(tmp_path: Path, form: str):
    assert ["mark"] == called(tmp_path, IMPORTS + DJANGO, form)


def test_each_word_has_a_receiver_that_is_generic():
    """An element needs something that it is an element of."""
    generic = {*CATALOG.generic, *(one.owner for one in CATALOG.inverse.values())}
    generic |= {*CATALOG.mixes_in.values()}  # a class that has their methods gives its objects
    words = {ELEMENT, ELEMENTS, ONE_OR_MANY}
    tables = (CATALOG.returns, CATALOG.returns_first, CATALOG.attributes)
    for symbol, given in (pair for table in tables for pair in table.items()):
        if given in words and symbol not in CATALOG.about:
            owner = symbol.rpartition(".")[0]
            assert generic & {*CATALOG.lineage(owner)}, symbol
    for symbol, given in (*CATALOG.elements.items(), *CATALOG.fields.items()):
        if given in words:
            assert generic & {*CATALOG.lineage(symbol)}, symbol


def test_each_type_is_a_class():
    for table in (CATALOG.returns, CATALOG.attributes, CATALOG.elements):
        for given in table.values():
            if given.startswith(TYPE):
                assert given.endswith("]")
                assert "." in given


OWN = """\
from typing import Callable, Generic, Protocol, TypeVar
from confluent_kafka import Consumer, Producer
T = TypeVar("T")
U = TypeVar("U")
class R(Generic[T]):
    client: T
    def __init__(self, made: T = None): self.made = made
    def get(self) -> T: ...
    def all(self) -> list[T]: ...
    def by(self) -> "dict[str, T]": ...
    @property
    def one(self) -> T: ...
class Two(Generic[T, U]):
    def get(self) -> U: ...
class Mid(R[U]): ...
class Derived(R[Producer]): ...
class Other(R[int]): ...
class Deep(Mid[Producer]): ...
class Second(Two[int, Producer]): ...
class First(Two[Producer, int]): ...
def chosen(cls: type[T], name: str) -> T: ...
def same(x: T, name: str = "") -> T:
    y = x
    return y
def retried(make: Callable[[], T]) -> T: ...
"""
VARIABLES = {
    "a method of a derived class": ("Derived().get().flush()", True),
    "an attribute": ("Derived().client.flush()", True),
    "a parameter that is kept": ("def f(x: Derived): x.made.flush()", True),
    "a property": ("Derived().one.flush()", True),
    "elements of a list": ("for x in Derived().all(): x.flush()", True),
    "values of a dict": ("Derived().by()['a'].flush()", True),
    "a class between": ("Deep().get().flush()", True),
    "the second of two": ("Second().get().flush()", True),
    "the first of two": ("First().get().flush()", False),
    "another derived class": ("Other().get().flush()", False),
    "an annotation": ("def f(r: Two[int, Producer]): r.get().flush()", True),
    "an annotation as text": ("def f(r: 'Two[int, Producer]'): r.get().flush()", True),
    "a call": ("r = Two[int, Producer]()\nr.get().flush()", True),
    "two annotations": (
        "class Own(Generic[T]):\n    def get(self) -> T: ...\n"
        "def f(r: Own[Producer], s: Own[Consumer]): s.get().flush()",
        False,
    ),
    "an argument that is a class": ("chosen(Producer, 'a').flush()", True),
    "an argument": ("same(Producer({}), 'a').flush()", True),
    "another argument": ("same('a', Producer({})).flush()", False),
    "an argument that makes it": ("retried(lambda: Producer({})).flush()", True),
    "a variable without a class": ("def f(x: T): x.flush()", False),
}


@pytest.mark.parametrize(("text", "known"), VARIABLES.values(), ids=VARIABLES)
def test_a_type_variable_stands_for_what_the_brackets_hold(tmp_path, text, known):
    inference = inferring(tmp_path, {"main.py": OWN + text})
    found = {name for _, names in symbols(inference, tmp_path / "main.py") for name in names}
    assert known is ("confluent_kafka.Producer.flush" in found)
