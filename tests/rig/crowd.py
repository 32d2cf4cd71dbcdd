"""Clients that ask all the while something happens to a tailor."""

import functools
import threading


class Together:
    """Threads that run as long as the block does.

    over   set when they are to end
    """

    def __init__(self, functions):
        self.over = threading.Event()
        self._threads = [threading.Thread(target=one) for one in functions]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self._threads:
            thread.join()


class Crowd(Together):
    """Clients of a tailor; each asks one request after the other, over one
    connection, until the block ends or it gets no response.

    target     target(client's number, how many it has had) of each request
    responses  [(target, response)], in the order in which they came
    served     how many each client has had
    errors     what clients got in place of a response
    """

    def __init__(self, tailor, count, target):
        self.responses, self.served, self.errors = [], [0] * count, []
        self._tailor, self._target = tailor, target
        super().__init__(functools.partial(self._ask, i)
                         for i in range(count))

    def _ask(self, number):
        try:
            with self._tailor.client() as client:
                while not self.over.is_set():
                    target = self._target(number, self.served[number])
                    self.responses.append((target, client.get(target)))
                    self.served[number] += 1
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(repr(error))

    def statuses(self):
        """All that came, and "none" if a client got no response."""
        found = {response.status for _, response in self.responses}
        return found | ({"none"} if self.errors else set())

    def bodies(self):
        return {response.body for _, response in self.responses}
