"""Joining a fleet by invites: who gets in, who stays, and who has to go."""

import json
import threading
import time
import unittest

import harness
from enrolment import EnrolmentFleet, Member


class EnrolTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.context = EnrolmentFleet()
        cls.fleet = cls.context.__enter__().start()

    @classmethod
    def tearDownClass(cls):
        cls.context.__exit__(None, None, None)

    def enrolled(self, name, role="node", **scope):
        member = Member(self.fleet, name)
        status, body = member.enrol(self.fleet.invite(role, name=name, **scope)["token"])
        self.assertEqual(status, 200, body)
        return member

    def test_the_first_admin_calls_with_its_certificate(self):
        code, response = self.fleet.admin.call("IdentityService/ListIdentities", {"role": "admin"})
        self.assertEqual(code, "OK", response)
        self.assertEqual([identity["name"] for identity in response["identities"]], ["ann"])
        self.fleet.cli("node", "list")

    def test_invites_have_lines_to_paste(self):
        made = self.fleet.invite(name="lines")
        self.assertIn(made["token"], made["command"])
        self.assertIn(self.fleet.coordinator.addresses["join"] + "/join", made["command"])
        self.assertIn(made["token"], made["wget_command"])
        self.assertTrue(self.fleet.invite("viewer", name="eve")["command"].startswith(
            "assay login " + self.fleet.coordinator.addresses["join"]))

    def test_users_have_the_role_of_their_invite(self):
        viewer = self.enrolled("vera", "viewer")
        self.assertEqual(viewer.call("NodeService/ListNodes")[0], "OK")
        self.assertEqual(viewer.call("IdentityService/ListInvites")[0], "PERMISSION_DENIED")

    def test_a_bad_request_is_refused_and_recorded(self):
        member = Member(self.fleet, "bad")
        token = self.fleet.invite(name="bad")["token"]
        other = token[:-1] + ("a" if token[-1] != "a" else "b")
        for given, fields, expected in (
                (other, {}, (400, "BAD_INVITE_TOKEN")),
                (token, {"certificate_request": "-"}, (400, "BAD_CERTIFICATE")),
                (token, {"time": "2001-01-01T00:00:00Z"}, (400, "CLOCK_SKEW")),
                ("", {}, (401, "NO_IDENTITY"))):
            status, body = member.enrol(given, **fields)
            self.assertEqual((status, body["reason"]), expected, body)
            self.assertTrue(body["hint"] and body["violations"], body)
            attempts = self.fleet.admin.call("IdentityService/ListAttempts")[1]["attempts"]
            self.assertEqual((attempts[0]["reason"], attempts[0]["address"]),
                             ("REASON_" + expected[1], "127.0.0.1"))
        self.assertEqual(member.enrol(token)[0], 200)

    def test_a_revoked_invite_admits_nobody(self):
        made = self.fleet.invite(name="revoked")
        self.fleet.admin.call("IdentityService/RevokeInvite",
                              {"invite_id": made["invite"]["invite_id"]})
        status, body = Member(self.fleet, "revoked").enrol(made["token"])
        self.assertEqual((status, body["reason"]), (403, "INVITE_REVOKED"))

    def test_an_expired_invite_admits_nobody(self):
        made = self.fleet.invite(name="expired", lifetime="60s")
        self.fleet.postgres.rows("UPDATE invite SET expire_time = now() - interval '1 second' "
                                 f"WHERE invite_id = '{made['invite']['invite_id']}'")
        status, body = Member(self.fleet, "expired").enrol(made["token"])
        self.assertEqual((status, body["reason"]), (400, "INVITE_EXPIRED"))

    def test_an_invite_is_used_once_but_may_be_asked_for_again(self):
        token = self.fleet.invite(name="once")["token"]
        first = Member(self.fleet, "once")
        self.assertEqual(first.enrol(token)[0], 200)
        identity = first.identity["identityId"]
        self.assertEqual(first.enrol(token)[0], 200)
        self.assertEqual(first.identity["identityId"], identity)
        status, body = Member(self.fleet, "twice").enrol(token)
        self.assertEqual((status, body["reason"]), (403, "INVITE_USED"))
        [used] = [one for one in self.fleet.admin.call("IdentityService/ListInvites")[1]["invites"]
                  if one.get("identity_id") == identity]
        self.assertEqual(used["identity_name"], "once")
        self.assertIn(used["identity_name"], body["message"])

    def test_a_ban_closes_the_stream_and_shuts_out(self):
        node = self.enrolled("banned")
        stream = node.attach()
        self.assertTrue(stream.accepted.wait(30))
        self.assertEqual(self.fleet.admin.call(
            "IdentityService/BanIdentity", {"identity": "banned", "reason": "mining"})[0], "OK")
        code, text = stream.await_end()
        self.assertEqual(code, "PERMISSION_DENIED", text)
        [ban] = [one["ban_reason"] for one in self.fleet.identities() if one["name"] == "banned"]
        self.assertEqual(ban, "mining")
        self.assertIn(ban, text)
        self.assertEqual(node.attach().await_end()[0], "PERMISSION_DENIED")
        status, body = node.renew_by_key()
        self.assertEqual((status, body["reason"]), (403, "BANNED"))
        self.fleet.admin.call("IdentityService/UnbanIdentity", {"identity": "banned"})
        stream = node.attach()
        self.assertTrue(stream.accepted.wait(30))
        self.fleet.admin.call("NodeService/RemoveNode", {"node": "banned"})
        self.assertIn(stream.await_end()[0], ("UNAUTHENTICATED", "FAILED_PRECONDITION"))
        self.assertEqual(node.attach().await_end()[0], "UNAUTHENTICATED")
        self.assertNotIn("banned", [one["name"] for one in self.fleet.identities()])

    def test_a_node_has_what_its_invite_says(self):
        node = self.enrolled("labelled", labels={"rack": "7"}, provider="rented",
                             price_per_hour=2.5)
        self.assertTrue(node.attach().accepted.wait(30))
        shown = self.fleet.call("NodeService/GetNode", {"node": "labelled"}, tls=(
            self.fleet.authority, self.fleet.admin.certificate, self.fleet.admin.key))
        description = shown[0]["node"]["description"]
        self.assertEqual(description["labels"], {"rack": "7"})
        self.assertEqual(description["provider"], "rented")
        self.assertEqual(description["price_per_hour"], 2.5)

    def test_a_certificate_is_renewed_over_its_channel(self):
        node = self.enrolled("renewing")
        code, response = node.call("IdentityService/RenewCertificate",
                                   {"certificate_request": node.request})
        self.assertEqual(code, "OK", response)
        node.store(response["certificate_chain"])
        self.assertTrue(node.attach().accepted.wait(30))
        other = Member(self.fleet, "other-key")
        self.assertEqual(node.call("IdentityService/RenewCertificate",
                                   {"certificate_request": other.request})[0],
                         "PERMISSION_DENIED")

    def test_a_stream_ends_with_its_certificate(self):
        """The certificate ends with the identity, which ends in some seconds."""
        end = time.time() + 6
        node = Member(self.fleet, "short")
        status, body = node.enrol(self.fleet.invite(
            name="short", identity_expire_time=time.strftime(
                "%Y-%m-%dT%H:%M:%SZ", time.gmtime(end)))["token"])
        self.assertEqual(status, 200, body)
        stream = node.attach()
        self.assertTrue(stream.accepted.wait(30))
        code, text = stream.await_end()
        self.assertEqual(code, "FAILED_PRECONDITION", text)
        status, body = node.renew_by_key()
        self.assertEqual((status, body["reason"]), (401, "NO_IDENTITY"))

    def test_the_listener_answers_bad_requests(self):
        for method, path, body, expected in (
                ("GET", "/", None, 404), ("GET", "/enrol", None, 405),
                ("POST", "/join", "x", 405), ("POST", "/enrol", "x" * 40_000, 413),
                ("POST", "/enrol", "{", 400), ("POST", "/enrol", "[" * 30_000, 400),
                ("POST", "/enrol", b"\xff\x00", 400), ("GET", "/assay-node.deb", None, 404)):
            self.assertEqual(self.fleet.request(method, path, body)[0], expected, (method, path))
        status, _, script = self.fleet.request("GET", "/join")
        self.assertEqual(status, 200)
        self.assertIn(self.fleet.coordinator.addresses["join"], script.decode())


class RaceTest(unittest.TestCase):
    def test_of_100_racing_keys_one_wins_although_the_coordinator_is_killed(self):
        with EnrolmentFleet() as fleet:
            fleet.start()
            token = fleet.invite(name="prize")["token"]
            members = [Member(fleet, f"racer{i}") for i in range(100)]
            outcomes, begin = [None] * len(members), threading.Barrier(len(members) + 1)

            def race(i):
                begin.wait()

                def answered():
                    try:
                        outcomes[i] = members[i].enrol(token)
                    except OSError:
                        return False
                    # Behind one address, refusals are limited.
                    return outcomes[i][0] not in (429, 503)
                harness.eventually(answered, 120, "an answer")
            threads = [threading.Thread(target=race, args=(i,)) for i in range(len(members))]
            for thread in threads:
                thread.start()
            begin.wait()
            fleet.coordinator.kill()
            fleet.restart()
            for thread in threads:
                thread.join()
            winners = [i for i, (status, _) in enumerate(outcomes) if status == 200]
            self.assertEqual(len(winners), 1, json.dumps([o[1].get("reason") for o in outcomes]))
            for i, (status, body) in enumerate(outcomes):
                if i != winners[0]:
                    self.assertEqual((status, body["reason"]), (403, "INVITE_USED"))
            nodes = [one for one in fleet.identities() if one["role"] == "node"]
            self.assertEqual([one["name"] for one in nodes], ["prize"])
            self.assertEqual(members[winners[0]].identity["identityId"], nodes[0]["identity_id"])
            self.assertTrue(members[winners[0]].attach().accepted.wait(30))


if __name__ == "__main__":
    unittest.main()
