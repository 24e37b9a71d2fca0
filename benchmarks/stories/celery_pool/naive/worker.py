from orders import app

from gevent import monkey

monkey.patch_all()

if __name__ == "__main__":
    app.worker_main(
        ["worker", "--pool", "gevent", "--concurrency", "200", "--loglevel", "ERROR"]
        + ["--without-mingle", "--without-gossip"]
    )
