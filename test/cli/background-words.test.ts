/**
 * The arguments of the process that `pawl run --background` starts.
 */
import { expect, test } from "vitest";
import { toBackgroundWords } from "../../src/cli/commands/run-background.js";
import { verifies } from "../verifies.js";

test.each([
  [["-c"], []],
  [["--continue"], []],
  [["-cc"], []],
  [["-y"], ["-y"]],
  [["-cy"], ["-y"]],
  [["-ycy"], ["-y"]],
  [
    ["-c", "--deny", "shell"],
    ["--deny", "shell"],
  ],
])("name the session once: %j", verifies("AGENT-5"), (options, kept) => {
  expect(toBackgroundWords(["run", "--background", ...options, "Go", "--", "-c"], "s")).toEqual([
    ...["run", ...kept, "Go", "--session", "s", "--park", "--", "-c"],
  ]);
});
