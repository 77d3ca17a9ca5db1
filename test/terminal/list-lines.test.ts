/**
 * Lists of names with a text each, as /help, /tools, /cost and /status show them.
 */
import { describe, expect, test } from "vitest";
import { commands } from "../../src/cli/conversation/commands/command-table.js";
import { renderHelp } from "../../src/cli/conversation/commands/help.js";
import { renderList } from "../../src/cli/conversation/lines/list-lines.js";
import { measureLine, toPlainText } from "../../src/cli/screen/line.js";
import { verifies } from "../verifies.js";

const entries = commands.map(({ name, takes, about }) => ({ head: `/${name} ${takes}`, about }));

describe.each([40, 60, 80, 200])("at %i columns", verifies("CHAT-1#screens"), (columns) => {
  test("no line is wider, no word is cut, and texts stand below each other", () => {
    const lines = renderList(entries, columns);
    for (const line of lines) expect(measureLine(line)).toBeLessThan(columns);
    const words = lines.map(toPlainText).join(" ").split(/\s+/);
    expect(words.join(" ").trim()).toBe(
      entries
        .map(({ head, about }) => `${head.trim()} ${about}`)
        .join(" ")
        .replace(/\s+/g, " "),
    );
    const heads = new Set(entries.map(({ head }) => head.trim()));
    const starts = lines
      .map(toPlainText)
      .filter((line) => !heads.has(line))
      .map((line) => line.search(/(?<=^\/.* {2,})[^ ]|(?<=^ +)[^ ]/));
    expect(new Set(starts).size).toBe(1);
  });
});

const help = { commands, custom: [], prompts: [], word: "" };

test.each([40, 80, 120])("/help has each command once, under a heading, at %i columns", (columns) => {
  const custom = { name: "deploy", takes: "[words]", about: "sends this folder's text: Deploy" };
  const lines = renderHelp(columns, { ...help, custom: [custom] }).map(toPlainText);
  for (const line of lines) expect(line.length).toBeLessThan(columns);
  const shown = lines.flatMap((line) => /^ {2}(\/\S+)/.exec(line)?.[1] ?? []);
  expect(shown.toSorted()).toEqual([...commands, custom].map(({ name }) => `/${name}`).toSorted());
  const headings = lines.filter((line, at) => line !== "" && (lines[at - 1] ?? "") === "");
  expect(headings.slice(0, -1)).toEqual([
    ...["Settings and help", "What the model can use", "Questions and permissions"],
    ...["Model and cost", "The model's work", "Sessions", "Commands in files"],
  ]);
});

test("at 80 columns, /help has one line for each command but one", () => {
  const lines = renderHelp(80, help).map(toPlainText);
  const end = lines.findIndex((line) => line.startsWith("!command"));
  const continued = lines.slice(0, end).filter((line) => /^ {4}/.test(line));
  expect(continued.length).toBeLessThanOrEqual(2);
});

test("/help with a word shows the commands about it", () => {
  const linesFor = (word: string) => renderHelp(80, { ...help, word }).map((line) => toPlainText(line).trim());
  expect(linesFor("UNDO").filter((line) => line.startsWith("/"))).toEqual([
    expect.stringMatching(/^\/redo /),
    expect.stringMatching(/^\/undo \[n\] /),
  ]);
  expect(linesFor("/undo").join("\n")).not.toContain("!command");
  expect(linesFor("nonsense")).toEqual(['No command is about "nonsense". /help lists all.']);
});

test("a path and an id stay whole, so that they can be copied", () => {
  const id = "x".repeat(60);
  expect(renderList([{ head: "session", about: id }], 40).map(toPlainText)).toEqual([`session  ${id}`]);
});
