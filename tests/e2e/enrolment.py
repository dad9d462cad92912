"""A fleet with an authority of its own, and peers that enrol as no program of ours does.

Runs with the distribution's Python, which has gRPC."""

import http.client
import json
import os
import queue
import ssl
import subprocess
import sys
import threading
import urllib.parse

import grpc

import harness


class Member:
    """A key with its certificate, if it has been enrolled."""

    def __init__(self, fleet, name):
        self.fleet, self.name = fleet, name
        self.key, self.certificate = fleet.path(f"{name}.key"), fleet.path(f"{name}.pem")
        self.request = subprocess.run(
            ["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-subj", "/CN=ignored", "-keyout", self.key],
            check=True, capture_output=True, text=True).stdout
        self.identity = None

    def enrol(self, token, **fields):
        """Enrols. Returns the HTTP status and the body."""
        status, body = self.fleet.post({"token": token, "certificate_request": self.request,
                                        "host_name": self.name, **fields})
        if status == 200:
            self.identity = body
            self.store(body["certificateChain"])
        return status, body

    def renew_by_key(self):
        return self.enrol("")

    def store(self, chain):
        with open(self.certificate, "w", encoding="ascii") as out:
            out.write(chain)

    def options(self):
        """The flags of our programs for this certificate."""
        return ["--tls-cert", self.certificate, "--tls-key", self.key,
                "--tls-ca", self.fleet.authority]

    def channel(self):
        def read(file):
            with open(file, "rb") as stream:
                return stream.read()
        credentials = grpc.ssl_channel_credentials(
            read(self.fleet.authority), read(self.key), read(self.certificate))
        return grpc.secure_channel(self.fleet.address(), credentials,
                                   [("grpc.use_local_subchannel_pool", 1)])

    def call(self, method, request=None, channel=None):
        """A unary call with JSON. Returns the name of the status code, and the response or the
        error's text."""
        request_type, response_type = self.fleet.types(method)
        from google.protobuf import json_format  # pylint: disable=import-outside-toplevel
        stub = (channel or self.channel()).unary_unary(
            f"/assay.v1.{method}", request_serializer=request_type.SerializeToString,
            response_deserializer=response_type.FromString)
        try:
            response = stub(json_format.ParseDict(request or {}, request_type()), timeout=30)
        except grpc.RpcError as error:
            return error.code().name, error.details()
        return "OK", json_format.MessageToDict(response, preserving_proto_field_name=True)

    def attach(self):
        """Opens the session of a node and waits until it is accepted."""
        from assay.v1 import session_pb2 as session  # pylint: disable=import-outside-toplevel
        hello = session.Hello(protocol_revision=1)
        hello.node.node_id = self.identity["identityId"]
        hello.node.name = self.identity["name"]
        hello.node.agent_instance_id = "8b0f2c36-6c0e-4d0c-a3b8-0b0a3d4c7e11"
        hello.node.labels["rack"], hello.node.provider = "own", "own"
        return Stream(self.channel(), "FleetService/Attach",
                      self.fleet.types("FleetService/Attach"),
                      session.AgentMessage(hello=hello))


class Stream:
    """A bidirectional stream whose end can be awaited."""

    def __init__(self, channel, method, types, first):
        self._channel = channel
        self._outgoing = queue.Queue()
        self._outgoing.put(first)
        self._call = channel.stream_stream(
            f"/assay.v1.{method}", request_serializer=types[0].SerializeToString,
            response_deserializer=types[1].FromString)(iter(self._outgoing.get, None))
        self.accepted, self._ended = threading.Event(), threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            for _ in self._call:
                self.accepted.set()
        except grpc.RpcError:
            pass
        self._ended.set()

    def await_end(self, seconds=30):
        """Returns the code and the text with which the server ended the stream."""
        if not self._ended.wait(seconds):
            raise AssertionError(f"the stream is open after {seconds} s")
        return self._call.code().name, self._call.details()

    def is_open(self):
        return not self._ended.is_set()


class EnrolmentFleet(harness.Fleet):
    """A fleet whose coordinator has an authority. `admin` is the first admin."""

    def start(self, *options):
        self.authority = self.path("authority", "ca.pem")
        self.postgres.start()
        self.coordinator = self.authority_coordinator("coordinator", *options).start()
        self._import_messages()
        self.admin = Member(self, "admin")
        self.admin.enrol(self.first_invite("admin", "ann")["token"])
        self.cli_options = self.admin.options()
        return self

    def authority_coordinator(self, name, *options, join="127.0.0.1:0", **more):
        return self.new_coordinator(name, "--ca", self.path("authority"), "--fleet", "lab",
                                    "--join", join, *options, **more)

    def restart(self):
        """Starts the coordinator again, on its addresses."""
        old = self.coordinator.addresses
        self.coordinator = self.authority_coordinator(
            "coordinator-again", join=urllib.parse.urlsplit(old["join"]).netloc, grpc=old["grpc"],
            http=old["http"], console=urllib.parse.urlsplit(old["console"]).netloc).start()

    def first_invite(self, role, name):
        """Makes an invite as the owner of the machine does."""
        run = subprocess.run(
            [os.path.join(harness.BUILD, "bin", "assay-coordinator"), "--ca",
             self.path("authority"), "--fleet", "lab", "--advertise-join", self.join().netloc,
             "invite", "--role", role, "--name", name, "-o", "json"],
            check=True, capture_output=True, text=True,
            env={**os.environ, "ASSAY_DATABASE": self.postgres.conninfo})
        return json.loads(run.stdout)

    def invite(self, role="node", lifetime="1800s", **scope):
        """Returns the response of CreateInvite."""
        code, response = self.admin.call(
            "IdentityService/CreateInvite",
            {"scope": {"role": role, **scope}, "lifetime": lifetime})
        if code != "OK":
            raise AssertionError(f"{code}: {response}")
        return response

    def join(self):
        return urllib.parse.urlsplit(self.coordinator.addresses["join"])

    def request(self, method, path, body=None):
        """One request to the join listener. Returns the status, the headers and the body."""
        context = ssl.create_default_context(cafile=self.authority)
        connection = http.client.HTTPSConnection(self.join().hostname, self.join().port,
                                                 context=context, timeout=30)
        try:
            connection.request(method, path, body)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def post(self, request):
        status, _, body = self.request("POST", "/enrol", json.dumps(request))
        return status, json.loads(body)

    def identities(self):
        return self.admin.call("IdentityService/ListIdentities")[1].get("identities", [])

    def _import_messages(self):
        stubs = self.path("stubs")
        os.makedirs(stubs)
        proto = os.path.join(harness.ROOT, "proto")
        folder = os.path.join(proto, "assay", "v1")
        subprocess.run(["protoc", f"-I{proto}", f"--python_out={stubs}",
                        *(os.path.join(folder, name) for name in os.listdir(folder)
                          if name.endswith(".proto"))], check=True)
        sys.path.insert(0, stubs)
        # All descriptors have to be registered.
        for name in os.listdir(os.path.join(stubs, "assay", "v1")):
            if name.endswith("_pb2.py"):
                __import__(f"assay.v1.{name[:-3]}")

    @staticmethod
    def types(method):
        """Returns the request and response types of a method such as "NodeService/GetNode"."""
        # pylint: disable=import-outside-toplevel
        from google.protobuf import descriptor_pool, symbol_database
        service, name = method.split("/")
        found = descriptor_pool.Default().FindServiceByName(f"assay.v1.{service}")
        described = found.FindMethodByName(name)
        database = symbol_database.Default()
        return (database.GetPrototype(described.input_type),
                database.GetPrototype(described.output_type))
