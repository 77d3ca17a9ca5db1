import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { cyclesIn, forbiddenIn, layersOf, reduced, roomOf, unusedIn } from "../../scripts/room-graph.mjs";
import { verifies } from "../verifies.js";

test("the rooms form no cycle, and the map of the code is that of the present imports", verifies("LOOP-14"), () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/rooms.mjs"], { encoding: "utf8" });
  expect(stderr).toBe("");
  expect(stdout).toContain("0 arrows on a cycle, 0 forbidden arrows, 0 unused allowances.");
  expect(status).toBe(0);
});

describe("the check of rooms", () => {
  const arrowsOf = (lists: { readonly [room: string]: readonly string[] }) => new Map(Object.entries(lists));

  test("puts a file into its innermost room", () => {
    expect(roomOf("tools/shell/shell.ts")).toBe("tools/shell");
    expect(roomOf("tools/mcp/server.ts")).toBe("tools/mcp");
    expect(roomOf("errors.ts")).toBe("errors.ts");
    expect(roomOf("core/index.ts")).toBe("entry points");
  });

  test("names the arrows of a cycle, and no others", () => {
    const arrows = arrowsOf({ top: ["one"], one: ["two"], two: ["three"], three: ["one"] });
    expect(cyclesIn(arrows)).toEqual(["one → two", "two → three", "three → one"]);
    expect(cyclesIn(arrowsOf({ one: ["two", "three"], two: ["three"], three: [] }))).toEqual([]);
  });

  test("names an import that the list does not allow, and an allowance that no import uses", () => {
    const arrows = arrowsOf({ "core/machine": ["core/data", "ports"], "stores/memory": ["errors.ts"] });
    expect(forbiddenIn(arrows)).toEqual(["core/machine → ports"]);
    expect(unusedIn(arrows)).toContain("stores/memory → stores/shared");
    expect(unusedIn(arrows)).not.toContain("stores/memory → ports");
  });

  test("leaves out arrows that follow from others, and puts importers above what they import", () => {
    const arrows = arrowsOf({ top: ["middle", "bottom"], middle: ["bottom"], bottom: [] });
    expect([...reduced(arrows)]).toEqual([...arrowsOf({ top: ["middle"], middle: ["bottom"], bottom: [] })]);
    expect(Object.fromEntries(layersOf(arrows))).toEqual({ top: 2, middle: 1, bottom: 0 });
  });
});
