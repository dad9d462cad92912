"""Runs the reference programs of single_gpu.py and collects their answers.

If a reference fails, hangs or prints something other than JSON, its answer is {"error": reason}, so
that the others are still measured and reported.
"""

import json
import os
import queue
import statistics
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))


def parsed(text, program):
    """Returns the JSON that a reference printed, or an error if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return {"error": f"{program} printed no JSON but {text.strip()[:80]!r}"}


class Torch:
    """A running reference_torch.py. It is restarted if it does not answer within PATIENCE seconds.

    `turns` has the answers to each command, in order.
    """

    PATIENCE = 120  # Seconds. The first answer takes longest, because PyTorch is loaded.

    def __init__(self):
        self.turns = {}
        self.error = None  # Why commands are no longer answered, if so.
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", os.path.join(HERE, "reference_torch.py"), "serve"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answered = False
        self.answers = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True,
                                       args=(self.process.stdout, self.answers))
        self.reader.start()

    @staticmethod
    def read(stdout, answers):
        for line in stdout:
            answers.put(line)
        answers.put("")  # It has ended.

    def measure(self, command):
        answer = {"error": self.error} if self.error else self.ask(command)
        self.turns.setdefault(command, []).append(answer)
        return answer

    def ask(self, command):
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:  # The process has ended and will not answer.
            pass
        try:
            answer = self.answers.get(timeout=self.PATIENCE)
        except queue.Empty:
            return self.give_up(command)
        if answer:
            self.answered = True
            return parsed(answer, "reference_torch.py")
        self.error = (f"reference_torch.py ended with exit code {self.end()}; its standard error "
                      "says why (without PyTorch there is nothing to compare with)")
        return {"error": self.error}

    def give_up(self, command):
        silent = f"reference_torch.py gave no answer within {self.PATIENCE} s"
        self.process.kill()
        self.end()
        if self.answered:
            self.start()
        else:
            self.error = f"{silent}, to no command since its start"
        return {"error": f"{silent}: {command}"}

    def end(self):
        """Waits for the process to end, kills it if it does not, and returns its exit code."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            code = self.process.wait(timeout=self.PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        return code

    def close(self):
        if not self.process.stdout.closed:
            self.end()


class Programs:
    """The reference programs in a folder. `turns` has the answers to each command, in order."""

    PATIENCE = 60  # Maximum seconds per program.

    def __init__(self, folder):
        self.folder = folder
        self.turns = {}

    def measure(self, command):
        answer = self.ask(*command.split())
        self.turns.setdefault(command, []).append(answer)
        return answer

    def ask(self, program, *arguments):
        try:
            done = subprocess.run([os.path.join(self.folder, program), *arguments],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  timeout=self.PATIENCE)
        except OSError as error:
            return {"error": f"{program}: {error.strerror}"}
        except subprocess.TimeoutExpired:
            return {"error": f"{program} gave no answer within {self.PATIENCE} s"}
        if done.returncode != 0:
            return {"error": done.stderr.strip() or f"{program}: exit code {done.returncode}"}
        return parsed(done.stdout, program)


class Reference:
    """The answers of a reference that ran before and after one of our cases."""

    def __init__(self, turns):
        self.errors = [turn["error"] for turn in turns if "error" in turn]
        self.turns = [turn for turn in turns if "error" not in turn]

    def mean(self, field):
        return statistics.fmean(turn[field] for turn in self.turns)

    def median(self, field):
        return statistics.median(turn[field] for turn in self.turns)

    def backend(self):
        """Returns which implementation PyTorch used, if it has several."""
        names = dict.fromkeys(turn["backend"] for turn in self.turns if "backend" in turn)
        return f" ({', '.join(names)})" if names else ""

    def spread(self):
        """Returns how much the medians of the half windows differ, relative to their mean."""
        halves = [seconds for turn in self.turns for seconds in turn["halves"]]
        return (max(halves) - min(halves)) / statistics.fmean(halves)
