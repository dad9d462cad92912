"""torch_timing.py and the compiling of reference_torch.py with a fake PyTorch."""

import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

with mock.patch.dict(sys.modules, torch=mock.MagicMock()):
    import torch_timing

HERE = os.path.dirname(os.path.abspath(__file__))
RULE = torch_timing.Rule(0, 0, 1, 1)


class Turns(unittest.TestCase):
    def setUp(self):
        self.called = []

        def run(iterate, samples):
            iterate()
            return [1.0] * samples
        patched = mock.patch.object(torch_timing, "run", run)
        patched.start()
        self.addCleanup(patched.stop)

    def call(self, name):
        return lambda _: self.called.append(name)

    def test_calls_are_measured_forwards_then_backwards(self):
        windows, errors = torch_timing.measure_turns(
            {"eager": self.call("eager"), "compiled": self.call("compiled")}, [["x"]], RULE, False)
        self.assertEqual((windows, errors), ({"eager": [1.0, 1.0], "compiled": [1.0, 1.0]}, {}))
        order = [name for name, before in zip(self.called, ["", *self.called]) if name != before]
        self.assertEqual(order, ["eager", "compiled", "eager"])

    def test_call_that_fails_leaves_the_others(self):
        def fails(_):
            raise ValueError("first\nsecond")
        for names in (["bad", "good"], ["good", "bad"]):
            calls = {name: fails if name == "bad" else self.call(name) for name in names}
            windows, errors = torch_timing.measure_turns(calls, [["x"]], RULE, False)
            self.assertEqual((windows, errors),
                             ({"good": [1.0, 1.0]}, {"bad": "ValueError: first second"}))

    def test_outputs_are_held_until_as_many_others_exist(self):
        released = []

        class Output:
            def __init__(self, number):
                self.number = number

            def __del__(self):
                released.append(self.number)

        call = torch_timing.holding(Output, 2)
        for number in range(4):
            call(number)
        self.assertEqual(released, [0, 1])


# A PyTorch whose compile() leaves a file for each case in the folder of the cache.
TORCH = """import os, sys, tempfile
from unittest import mock
module = mock.MagicMock()
def compile(*_, **__):
    os.close(tempfile.mkstemp(".compiled", dir=os.environ["TORCHINDUCTOR_CACHE_DIR"])[0])
    return mock.MagicMock()
module.compile = compile
sys.modules["torch"] = module
for name in ("distributed", "multiprocessing", "nn", "nn.functional"):
    sys.modules["torch." + name] = mock.MagicMock()
"""


class Compiling(unittest.TestCase):
    def test_choices_of_several_processes_are_forgotten(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "torch.py"), "w") as file:
                file.write(TORCH)
            cache = os.path.join(folder, "cache")
            os.makedirs(os.path.join(cache, "ab"))
            for name in ("one.best_config", "one.py"):
                with open(os.path.join(cache, "ab", name), "w"):
                    pass
            lines = ["relu 8", "add 8", "softmax 2 4 --dtype bf16", "relu", "attention 1 1 8 64",
                     "gemm 8 8 8"]
            done = subprocess.run(
                [sys.executable, "-B", os.path.join(HERE, "reference_torch.py"), "compile",
                 "--processes", "3"], input="\n".join(lines) + "\n", text=True, check=True,
                stderr=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": folder, "TORCHINDUCTOR_CACHE_DIR": cache})
            self.assertEqual(os.listdir(os.path.join(cache, "ab")), ["one.py"])
            compiled = [name for name in os.listdir(cache) if name.endswith(".compiled")]
        # One of the two others is incomplete, and attention is never compiled.
        self.assertEqual(len(compiled), 4)
        self.assertIn("attention 1 1 8 64: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
