from time import sleep
from urllib.request import urlopen

from merchants import LATENCY, MERCHANT, app


@app.task(name="send_order")
def send_order(number):
    sleep(0.1)  # the merchant's limit of requests
    with urlopen(f"{MERCHANT}/{LATENCY}") as response:
        return response.status
