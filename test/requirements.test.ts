import { describe, expect, test } from "vitest";
import { owedCitations, requirements, unknownCitations, unproved } from "./requirements.js";

describe("the list of requirements", () => {
  test("has ids of the form AREA-number, each once", () => {
    const ids = requirements.map((row) => row.id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[A-Z]{2,5}-[1-9]\d*$/);
  });

  test("owes only parts that a row has", () => {
    for (const row of requirements) {
      if (typeof row.owed === "object") expect(row.parts).toEqual(expect.arrayContaining([...row.owed]));
    }
    expect(unknownCitations(owedCitations())).toEqual([]);
  });

  test("knows rows and their parts, and nothing else", () => {
    expect(unknownCitations(["LOOP-1", "LOOP-8", "LOOP-8#one-process"])).toEqual([]);
    expect(unknownCitations(["LOOP-99", "LOOP-1#half", "LOOP-8#third"])).toEqual([
      "LOOP-99",
      "LOOP-1#half",
      "LOOP-8#third",
    ]);
  });
});

describe("what is unproved", () => {
  test("is everything owed while nothing is cited, and nothing once all of it is", () => {
    expect(unproved([])).toEqual(owedCitations());
    expect(unproved(owedCitations())).toEqual([]);
  });

  test("is a part until it or its whole row is cited", () => {
    expect(unproved(["LOOP-8#between-processes"])).toContain("LOOP-8#one-process");
    expect(unproved(["LOOP-8#one-process"])).not.toContain("LOOP-8#one-process");
    expect(unproved(["LOOP-8"])).not.toContain("LOOP-8#one-process");
  });

  test("leaves out no row", () => {
    expect(requirements.filter(({ owed }) => owed === false || (owed !== true && owed.length === 0))).toEqual([]);
  });
});
