"""A fleet with mutual TLS, and a peer that does with its certificate what no program of ours does.

Certificates are made by the commands of docs/guides/secure-a-fleet.md, so that the guide is tested.
Runs with the distribution's Python, which has gRPC."""

import os
import queue
import re
import subprocess
import sys
import threading
import uuid

import harness

GUIDE = os.path.join(harness.ROOT, "docs", "guides", "secure-a-fleet.md")


def guide_commands():
    """The guide's shell commands that make certificates: the first indented block of its section on
    an authority of one's own."""
    with open(GUIDE, encoding="utf-8") as file:
        section = file.read().split("## An authority of your own\n")[1]
    block = re.search(r"(?:^    .*\n)+", section, re.MULTILINE).group(0)
    return re.sub(r"(?m)^    ", "", block)


class Certificates:
    """The guide's authority and certificates, and further ones, in one folder."""

    def __init__(self, folder):
        self._folder = folder
        os.makedirs(folder, mode=0o700)
        self._commands = guide_commands()
        self._shell(self._commands)

    def _shell(self, commands):
        subprocess.run(["bash", "-e", "-c", commands], cwd=self._folder, check=True,
                       capture_output=True)

    def make(self, name, names, use="clientAuth"):
        """Makes one more certificate with the guide's function."""
        function = re.search(r"certificate\(\) \{.*?\n\}\n", self._commands, re.DOTALL).group(0)
        self._shell(f"{function}certificate {name} {names} {use}")

    def node(self, name, use="clientAuth"):
        """Makes a node's certificate; its node_id."""
        node_id = str(uuid.uuid4())
        self.make(name, f"URI:spiffe://lab/node/{node_id},DNS:{name},IP:127.0.0.1", use)
        return node_id

    def user(self, name, role):
        self.make(name, f"URI:spiffe://lab/{role}/{name}")

    def path(self, file):
        return os.path.join(self._folder, file)

    def options(self, name):
        """The flags of our programs for this certificate."""
        return ["--tls-cert", self.path(f"{name}.pem"), "--tls-key", self.path(f"{name}.key"),
                "--tls-ca", self.path("ca.pem")]


class SecureFleet(harness.Fleet):
    """A fleet with the guide's certificates; its CLI calls as the operator `ann`."""

    def __enter__(self):
        super().__enter__()
        self.certificates = Certificates(self.path("certificates"))
        self.node_ids = {}
        self.cli_options = self.certificates.options("ann")
        self._stubs = None
        self.prefix = []  # Before the coordinator's command, for example prlimit.
        return self

    def new_coordinator(self, name, *options, **more):
        process = super().new_coordinator(name, *options, **more)
        process.wrap(self.prefix)
        return process

    def start(self, *options):
        return super().start(*self.certificates.options("coordinator"), *options)

    def secure_agent(self, name, *options, listen=None, **more):
        """An agent with a certificate of its own, which listens only if told so."""
        if name not in self.node_ids:
            self.node_ids[name] = self.certificates.node(name)
        return self.agent(name, *self.certificates.options(name), *options, listen=listen,
                          **more)

    def messages(self):
        """The module `assay.v1` with its generated messages, imported once."""
        if self._stubs is None:
            self._stubs = self.path("stubs")
            os.makedirs(self._stubs)
            proto = os.path.join(harness.ROOT, "proto")
            files = [os.path.join(proto, "assay", "v1", name)
                     for name in os.listdir(os.path.join(proto, "assay", "v1"))
                     if name.endswith(".proto")]
            subprocess.run(["protoc", f"-I{proto}", f"--python_out={self._stubs}", *files],
                           check=True)
            sys.path.insert(0, self._stubs)
        return self._stubs

    def attacker(self, name, server=None):
        """A peer that dials with the certificate `name`, or with none."""
        self.messages()
        address = (server or self.coordinator).addresses["grpc"]
        return Attacker(self.certificates, name, address)


class Attacker:
    """A client with one certificate. Methods are those of the wire, with any message."""

    def __init__(self, certificates, name, address):
        import grpc  # pylint: disable=import-outside-toplevel
        self._grpc = grpc

        def read(file):
            with open(certificates.path(file), "rb") as stream:
                return stream.read()
        credentials = grpc.ssl_channel_credentials(
            read("ca.pem"), *((read(f"{name}.key"), read(f"{name}.pem")) if name else ()))
        self.channel = grpc.secure_channel(
            address, credentials, [("grpc.use_local_subchannel_pool", 1),
                                   ("grpc.max_send_message_length", -1),
                                   ("grpc.max_receive_message_length", -1)])

    def call(self, method, request, response, **options):
        """A unary call; the name of the status code and the response."""
        stub = self.channel.unary_unary(f"/assay.v1.{method}",
                                        request_serializer=type(request).SerializeToString,
                                        response_deserializer=response.FromString)
        try:
            return "OK", stub(request, timeout=30, **options)
        except self._grpc.RpcError as error:
            return error.code().name, error

    def attach(self):
        """A session that has sent nothing yet."""
        from assay.v1 import session_pb2 as session  # pylint: disable=import-outside-toplevel
        return Stream(self.channel.stream_stream(
            "/assay.v1.FleetService/Attach",
            request_serializer=session.AgentMessage.SerializeToString,
            response_deserializer=session.CoordinatorMessage.FromString), self._grpc)

    def session(self):
        """A coordinator's session with an agent that listens."""
        from assay.v1 import session_pb2 as session  # pylint: disable=import-outside-toplevel
        return Stream(self.channel.stream_stream(
            "/assay.v1.AgentService/Session",
            request_serializer=session.CoordinatorMessage.SerializeToString,
            response_deserializer=session.AgentMessage.FromString), self._grpc)


class Stream:
    """Both directions of one call."""

    def __init__(self, stub, grpc):
        self._grpc = grpc
        self._outgoing = queue.Queue()
        self._call = stub(iter(self._outgoing.get, None))
        self._incoming = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            for message in self._call:
                self._incoming.put(message)
        except self._grpc.RpcError:
            pass
        self._incoming.put(None)

    def send(self, message):
        self._outgoing.put(message)

    def receive(self, kind=None, seconds=30):
        """The next message, or the next of this kind; None at the end of the stream."""
        while True:
            message = self._incoming.get(timeout=seconds)
            if message is None or kind is None or message.HasField(kind):
                return message

    def status(self):
        """The name of the code with which the server ended the call, and its text."""
        while self._incoming.get(timeout=30) is not None:
            pass
        return self._call.code().name, self._call.details()

    def close(self):
        self._outgoing.put(None)
        self._call.cancel()
