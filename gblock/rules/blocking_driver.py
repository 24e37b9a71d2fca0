"""``blocking-driver``: a driver that waits in native code, chosen by a string."""

from __future__ import annotations

import re

from gblock.diagnostics import Location, Related, Severity
from gblock.rule import ProcessRule, Wording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from gblock.project.remarks.drivers import Facts
    from gblock.project.remarks.remark import Remark
    from gblock.project.remarks.service import Service


class BlockingDriver(ProcessRule):
    """A string chooses a driver that waits in native code: every call through it blocks.

    ## What it does

    Reads the strings by which libraries choose a driver: SQLAlchemy's URLs (`mysql://` is
    mysqlclient), Django's `DATABASES`, `CACHES` and `AUTHENTICATION_BACKENDS`, Flask-SQLAlchemy's
    configuration, Celery's broker and result backend, and others that the catalog lists; and the
    classes for one database, such as peewee's `PostgresqlDatabase`. Each string is followed from
    its use to its definition: through constants of other modules, defaults of environment
    variables, and f-strings whose start is known. It is reported once, at its definition, and not
    at each query.

    Nothing is reported where every process on gevent that runs the file makes the driver
    cooperative (`gblock processes` shows how), or where only processes without gevent run it. Where
    a string fits several drivers (`postgresql://` is psycopg2 or, from SQLAlchemy 2.1 on, psycopg),
    the project's requirements decide.

    ## Why it blocks the hub

    An ORM hides the driver, but not its wait: `session.commit()` ends in a C function that reads
    the server's answer from the socket, where monkey patching has no effect. No other greenlet runs
    until the answer arrives.

    ## Use instead

    The remedy in the catalog: a wait callback (`psycogreen.gevent.patch_psycopg()`, in
    gunicorn's `post_fork` or before the first connection), or the name of a pure Python driver in
    the same string (`mysql+pymysql://`, `postgresql+pg8000://`, `postgresql+psycopg://`).

    ## Limits

    A driver in Django's settings is a note where the service has no model and no query, and keeps
    its sessions elsewhere. So is one of several drivers that code offers, if the project requires
    the library and none of the driver's packages.
    Environment variables, `alembic.ini` and other settings files are not read. A URL that functions
    of other packages build is unknown.
    `sqlite://` is reported only in a project that neither requires nor chooses another database's
    driver; in others it is the default for development.
    """

    name = "blocking-driver"
    since = "0.1.0"
    fixes = ("recipe",)
    # Each begins with a literal letter: with ``\b`` in front the search takes ten times as long.
    marks = re.compile(
        rb"://(?<!http://)(?<!https://)|backends?\.|ENGINE|BACKEND|DRIVER|DIALECT|drivername"
        rb"|provider|\.bind\(|Database(?:\(|[ \t]+as\b)"
        rb"|create_engine|engine_from_config|DATABASE_UR[IL]|DATABASES|dj_database_url|environ\.Env"
        rb"|emcached|pylibmc|PyLibMC|URL\.create|URL\(|SQLAlchemy\("
        rb"|get_wsgi_application\(|WSGIHandler\("
    )
    """Forms of such strings: schemes other than the web's, and names of backends."""

    VALID = {
        "a pure Python driver": """
            from gevent import monkey; monkey.patch_all()
            from sqlalchemy import create_engine

            if __name__ == "__main__":
                engine = create_engine("mysql+pymysql://shop@db/shop")
            """,
        "a wait callback makes it cooperative": """
            from gevent import monkey; monkey.patch_all()
            from psycogreen.gevent import patch_psycopg
            from sqlalchemy import create_engine

            patch_psycopg()
            engine = create_engine("postgresql+psycopg2://shop@db/shop")

            if __name__ == "__main__":
                engine.connect()
            """,
        "PyMySQL takes the place of mysqlclient": """
            from gevent import monkey; monkey.patch_all()
            import pymysql
            from django.core.management import execute_from_command_line

            pymysql.install_as_MySQLdb()
            DATABASES = {"default": {"ENGINE": "django.db.backends.mysql", "NAME": "shop"}}

            if __name__ == "__main__":
                execute_from_command_line()
            """,
        "a URL that is only looked at": """
            from gevent import monkey; monkey.patch_all()
            import os
            from sqlalchemy import create_engine

            if __name__ == "__main__":
                url = os.environ["DATABASE_URL"]
                if url.startswith("mysql://"):
                    url = url.replace("mysql://", "mysql+pymysql://")
                engine = create_engine(url)
            """,
    }
    INVALID = {
        "SQLAlchemy takes mysqlclient for `mysql`": """
            from gevent import monkey; monkey.patch_all()
            from sqlalchemy import create_engine

            if __name__ == "__main__":
                engine = create_engine("mysql://shop@db/shop")  # expect: blocking-driver
            """,
        "the default for the environment": """
            from gevent import monkey; monkey.patch_all()
            import os
            from sqlalchemy import create_engine

            URL = os.getenv("DATABASE", "postgresql+psycopg2://db")  # expect: blocking-driver

            if __name__ == "__main__":
                engine = create_engine(URL)
            """,
        "Django's settings": """
            from gevent import monkey; monkey.patch_all()
            from django.core.management import execute_from_command_line

            DATABASES = {
                "default": {
                    "ENGINE": "django.db.backends.mysql",  # expect: blocking-driver
                    "NAME": "shop",
                },
            }

            if __name__ == "__main__":
                execute_from_command_line()
            """,
        "Celery's results": """
            from gevent import monkey; monkey.patch_all()
            from celery import Celery

            app = Celery(
                "shop",
                broker="redis://",
                backend="db+mysql://shop@db/shop",  # expect: blocking-driver
            )

            if __name__ == "__main__":
                app.start()
            """,
    }

    @classmethod
    def find(cls, service: Service, paths: Collection[str]) -> Iterable[Remark]:
        """Yield the strings in some files that choose a driver which blocks where it is used."""
        from gblock.project.remarks.drivers import Drivers  # most runs need `marks` only

        if not service.processes.inference.catalog.drivers:
            return ()
        return Drivers(service.processes, paths, cls.marks, service.queries).remarks()

    @classmethod
    def worded(cls, remark: Remark, name_of: Callable[[str], str]) -> Wording:
        """Return the message for one string."""
        facts: Facts = remark.facts
        driver = facts.driver
        named = "the standard library" if driver.distribution == "stdlib" else driver.distribution
        message = f"`{facts.written}` means {named}"
        if not facts.is_shown:
            message = f"`{facts.written}` chooses the driver, and {named} is the only one required"
        if facts.rivals:
            message += f", unless {' or '.join(facts.rivals)} takes its place"
        message += ": every call through it blocks the hub"
        if facts.processes:
            message += f" of {_listed(facts.processes)}"
        if facts.elsewhere:
            message += f"; it is made cooperative in {_listed(facts.elsewhere)} only"
        doubt = facts.doubt
        if doubt is not None:
            where = f"{name_of(doubt.path)}:{doubt.row}"
            message += f", unless `{doubt.condition}`: only then {doubt.symbol} is called ({where})"
        related: tuple[Related, ...] = ()
        if facts.reader is not None:
            path, row = facts.reader
            related = (Related(name_of(path), Location(row, 1), "it is read here"),)
        related += tuple(
            Related(name_of(path), Location(span.row, span.column), "chosen for development, too")
            for path, span in facts.beside
        )
        certain = driver.level == "error" and not facts.rivals and doubt is None and facts.is_shown
        severity = Severity.ERROR if certain else Severity.WARNING
        if driver.local:
            severity = Severity.NOTE
        if facts.is_optional:
            severity = Severity.NOTE
            message += "; the requirements lack it"
        if facts.is_idle:
            severity = Severity.NOTE
            message += "; no code of the service queries it"
        return Wording(
            severity,
            message,
            driver.instead,
            driver.why,
            related,
            blocker=driver.id,
            cause=f"without {facts.recipe}"
            if facts.recipe
            else f"{cls.name}:{driver.id}:{','.join(facts.processes)}",
        )


def _listed(names: tuple[str, ...]) -> str:
    shown = [f"`{name}`" for name in names[:3]]
    return ", ".join(shown) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
