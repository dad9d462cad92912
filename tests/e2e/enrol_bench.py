"""Prints the seconds that 1,000 enrolments take, and those from a ban to the closed stream."""

import concurrent.futures
import statistics
import sys
import time

from enrolment import EnrolmentFleet, Member


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with EnrolmentFleet() as fleet:
        fleet.start()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            members = list(pool.map(lambda i: Member(fleet, f"n{i:04}"), range(count)))
            channel = fleet.admin.channel()
            tokens = list(pool.map(lambda member: fleet.admin.call(
                "IdentityService/CreateInvite", {"scope": {"role": "node", "name": member.name}},
                channel)[1]["token"], members))
            begin = time.monotonic()
            statuses = list(pool.map(lambda i: members[i].enrol(tokens[i])[0], range(count)))
            seconds = time.monotonic() - begin
        assert statuses == [200] * count, statuses
        print(f"{count} enrolments: {seconds:.1f} s, {1000 * seconds / count:.1f} ms each")
        delays = []
        for member in members[:10]:
            stream = member.attach()
            assert stream.accepted.wait(30)
            begin = time.monotonic()
            fleet.admin.call("IdentityService/BanIdentity", {"identity": member.name}, channel)
            assert stream.await_end()[0] == "PERMISSION_DENIED"
            delays.append(time.monotonic() - begin)
        print(f"ban to closed stream: median {statistics.median(delays):.3f} s, "
              f"most {max(delays):.3f} s")


if __name__ == "__main__":
    main()
