"""A fleet with several coordinators on one database, of which one is elected to schedule."""

from harness import Fleet, eventually, free_port


class Replicas(Fleet):
    """`c1` and `c2` are coordinators; agents and the CLI get the addresses of both."""

    def __init__(self, names=("c1", "c2")):
        super().__init__()
        self._names = names
        self.coordinators = {}

    def start(self, *options):
        self.postgres.start()
        for name in self._names:
            # Fixed addresses, because coordinators tell them to agents and each other.
            addresses = {"grpc": f"127.0.0.1:{free_port()}", "http": f"127.0.0.1:{free_port()}"}
            self.coordinators[name] = self.new_coordinator(name, *options, **addresses).start()
        self.coordinator = self.coordinators[self._names[0]]
        return self

    def address(self):
        return ",".join(self.address_of(name) for name in self._names)

    def address_of(self, name):
        return self.coordinators[name].addresses["grpc"]

    def scheduler(self):
        """Returns the elected coordinator's name and term. The name is "" without a lease."""
        (term, address, valid), = self.postgres.rows(
            "SELECT term, address, lease_until > now() FROM scheduler")
        names = [name for name in self._names if self.address_of(name) == address]
        return names[0] if names and valid == "t" else "", int(term)

    def leader(self):
        return eventually(lambda: self.scheduler()[0], 30, "an elected coordinator")

    def follower(self):
        leader = self.leader()
        return next(name for name in self._names if name != leader)

    def await_leader(self, name, seconds=30):
        eventually(lambda: self.scheduler()[0] == name, seconds, f"the election of {name}")

    def owners(self):
        """Returns the coordinators that have sessions with nodes, each once."""
        return {row[0] for row in self.postgres.rows(
            "SELECT owner FROM node_session WHERE owner IS NOT NULL")}

    def ask(self, name):
        """Makes the calls of the CLI go to this coordinator alone. Use as a context manager."""
        return _Asking(self, name)


class _Asking:
    def __init__(self, fleet, name):
        self._fleet, self._name = fleet, name

    def __enter__(self):
        # An attribute of the object hides the method.
        self._fleet.address = lambda: self._fleet.address_of(self._name)
        self._before, self._fleet.coordinator = (self._fleet.coordinator,
                                                 self._fleet.coordinators[self._name])

    def __exit__(self, kind, value, trace):
        del self._fleet.address
        self._fleet.coordinator = self._before
