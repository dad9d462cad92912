"""What sanitize.sh makes of compute-sanitizer's answers: with a tool and a runner that only talk."""
import os
import stat
import subprocess
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sanitize.sh")

# The tool finds what was planted, and else says what the test wants, with its exit code.
TOOL = """#!/bin/sh
case "$*" in
  *out_of_bounds*|*race) exit 9 ;;
  *"selftest --gpu 0 bank_conflict"*) cat "$ANSWER"; exit "$CODE" ;;
esac
echo "the tool was asked for: $*"
exit 1
"""

RUNNER = """#!/bin/sh
[ -n "${CUDA_VISIBLE_DEVICES-unset}" ] || mark=unsupported:
echo "bank_conflict            ${mark:-ok on GPU 0}"
echo "vector_add               ${mark:-ok on GPU 0}"
"""

CLEAN = "========= ERROR SUMMARY: 0 errors\n"
OK = "bank_conflict            ok on GPU 0\n"


class SanitizeTest(unittest.TestCase):
    def check(self, answer, code):
        """The line about one benchmark under memcheck, and the script's exit code."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"compute-sanitizer": TOOL, "runner": RUNNER, "planted": "#!/bin/sh\n",
                               "answer": answer}.items():
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
            environment = dict(os.environ, PATH=folder + ":" + os.environ["PATH"], CODE=str(code),
                               ANSWER=os.path.join(folder, "answer"))
            environment.pop("CUDA_VISIBLE_DEVICES", None)
            done = subprocess.run(
                [SCRIPT, os.path.join(folder, "runner"), os.path.join(folder, "planted"),
                 "bank_conflict"], env=environment, capture_output=True, text=True, check=False)
        lines = [line for line in done.stdout.splitlines()
                 if "bank_conflict" in line and "memcheck" in line]
        self.assertEqual(len(lines), 1, done.stdout + done.stderr)
        return lines[0], done.returncode

    def test_clean(self):
        line, code = self.check(OK + CLEAN, 0)
        self.assertRegex(line, "^ok   bank_conflict .* 1 of 1 cases")
        self.assertEqual(code, 0)

    def test_unsupported_variants_are_no_failure(self):
        lacking = "bank_conflict ways=3     unsupported on GPU 0: needs another\n"
        line, code = self.check(OK + lacking + CLEAN, 3)
        self.assertRegex(line, "^ok   bank_conflict .* 1 of 2 cases")
        self.assertEqual(code, 0)

    def test_findings_are_not_hidden_by_the_output_of_the_program(self):
        for code in (0, 1, 3, 9):
            found = "========= ERROR SUMMARY: 10 errors\n"
            line, ended = self.check(OK + found + CLEAN, code)
            self.assertRegex(line, "^FAIL bank_conflict +memcheck +errors: ")
            self.assertEqual(ended, 1)

    def test_timed_out_case_is_reported_as_such(self):
        late = "bank_conflict            failed: rank 1: no answer in time\n"
        self.assertRegex(self.check(late + CLEAN, 1)[0],
                         "^FAIL .* no errors, but not to its end: ERROR SUMMARY: 0 errors ")
        for output, code, finding in ((OK + CLEAN, 124, " no errors, but not to its end: "),
                                      ("", 124, " no summary, and not to its end: ")):
            self.assertIn(finding, self.check(output, code)[0])

    def test_other_failures(self):
        wrong = "bank_conflict            failed on GPU 0: before timing: element 7 is 1\n"
        for output, code, finding in ((wrong + CLEAN, 1, " no errors, but a failure: "),
                                      (CLEAN, 0, " no errors, but nothing ran: "),
                                      (OK, 0, " no summary: ")):
            self.assertIn(finding, self.check(output, code)[0])


if __name__ == "__main__":
    unittest.main()
