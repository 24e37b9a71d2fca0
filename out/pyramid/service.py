from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from pyramid.config import Configurator
from pyramid.view import view_config
def db(request):
    return psycopg2.connect('x')  # X
@view_config(route_name='a')
def a(request):
    request.db.commit()  # X
def main(g, **s):
    c = Configurator(settings=s)
    c.add_request_method(db, 'db', reify=True)
    c.scan()
    return c.make_wsgi_app()

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), main({})).serve_forever()
