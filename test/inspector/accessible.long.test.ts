/**
 * What assistive technology is told of the pages: the accessibility tree that Chromium makes of each.
 */
import { expect, test } from "vitest";
import { createMemoryStore } from "../../src/index.js";
import { startTestServer } from "../server/rig.js";
import { verifies } from "../verifies.js";
import { accessibilityTree, nodesOf } from "./accessibility-tree.js";
import { openBrowser, openInspector, type Page, pressUntil } from "./browser.js";
import { createMender, writeWaitingSession } from "./desk.js";
import { nested } from "./family.js";
import { findClipped, findLowContrast } from "./measure-page.js";

async function openWaiting() {
  const store = createMemoryStore();
  const sessionId = await writeWaitingSession(store);
  const rig = await startTestServer({ store, agents: [createMender(store)], work: false, ui: true });
  const { page } = await openInspector(await openBrowser(), rig);
  return { page, at: (path: string) => page.goto(`${rig.url}/#/${path}`), session: `sessions/${sessionId}` };
}

/** The tree as lines of one element each, without indentation. */
async function elementsOf(page: Page): Promise<readonly string[]> {
  const tree = await page.locator("body").ariaSnapshot();
  return tree.split("\n").map((line) => line.trim().replace(/^- /, "").replace(/:$/, "").replaceAll("'", ""));
}

const mustBeNamed =
  /^(?:button|link|tab|tabpanel|option|combobox|listbox|textbox|searchbox|checkbox|region|navigation|img)\b(?! ")/;

test(
  "the page of a session tells its parts, the steps, the one that is chosen, and what waits",
  verifies("UI-2"),
  async () => {
    const { page, at, session } = await openWaiting();
    await at(session);
    await page.getByText("I change the loop").waitFor();
    const elements = await elementsOf(page);
    const places = [
      "banner",
      'navigation "Screens"',
      'link "Approvals 2"',
      "status: live",
      "main",
      'heading "Fix the flaky test in test/queue.test.ts" [level=1]',
      'navigation "Views of this session"',
      'region "Steps"',
      'button "All" [pressed]',
      'button "Failed 1"',
      'combobox "Only steps that call this tool"',
      'listbox "Steps"',
      'group "Fix the flaky test in test/queue.test.ts"',
      /^option "1 done read_file ×3 .*"$/,
      'img "done"',
      /^option "2 failed shell .*"$/,
      'img "failed"',
      /^option "3 waits edit_file, shell .*" \[selected\]$/,
      'region "Step 3"',
      'heading "Step 3" [level=2]',
      'tablist "Views of this step"',
      'tab "Step" [selected]',
      'tab "Request"',
      'tabpanel "Step"',
      'article "Call of edit_file"',
      'heading "edit_file" [level=3]',
      'group "The change"',
      'img "removed": −',
      'article "Call of shell"',
      'link "Answer"',
      'region "Time"',
    ].map((wanted) => elements.findIndex((one) => (typeof wanted === "string" ? one === wanted : wanted.test(one))));
    expect(places.filter((place) => place === -1)).toEqual([]);
    // They are told in the order in which they are seen, but for what comes more than once.
    const [answer, ...others] = [places.at(-2), ...places.slice(0, -2)];
    expect(answer).toBeGreaterThan(0);
    expect(others).toEqual(others.toSorted((a = 0, b = 0) => a - b));
  },
);

test("the list of steps holds options and groups of them, and counts the options alone", verifies("UI-2"), async () => {
  const { page, at, session } = await openWaiting();
  await at(session);
  await page.locator(".line.step").first().waitFor();
  const inside = await page.evaluate<readonly string[]>(`(() => {
    const seen = [...document.querySelectorAll("[role=listbox][aria-label=Steps] *")];
    const shown = seen.filter((one) => one.closest("[aria-hidden=true]") === null && one.closest("[role=option]") === null);
    return [...new Set(shown.flatMap((one) => one.getAttribute("role") ?? (one.textContent === "" ? [] : "")))];
  })()`);
  expect(inside.filter((role) => role !== "")).toEqual(["group"]);
  const counted = await page.evaluate<readonly (readonly string[])[]>(
    `[...document.querySelectorAll("[role=listbox][aria-label=Steps] [role=option]")].map((one) =>
      ["aria-posinset", "aria-setsize"].map((name) => one.getAttribute(name)))`,
  );
  expect(counted.length).toBeGreaterThan(2);
  expect(counted).toEqual(counted.map((_, index) => [`${index + 1}`, `${counted.length}`]));
});

test(
  "the list of sessions is a tree of rows: each says its level, and has its links and buttons",
  verifies("UI-2"),
  async () => {
    const store = createMemoryStore();
    await nested(store, 3).run("How does the queue drain?", { sessionId: "lead" });
    const rig = await startTestServer({ store, agents: [], ui: true });
    const { page, context } = await openInspector(await openBrowser(), rig);
    const list = async () => {
      const all = nodesOf(await accessibilityTree(context, page));
      const [grid, ...others] = all.filter(({ role }) => role === "treegrid");
      if (grid === undefined || others.length > 0) throw new Error("the page has no single list of sessions");
      const [head, ...rows] = nodesOf(grid).filter(({ role }) => role === "row");
      return {
        name: grid.name,
        columns: nodesOf(head)
          .filter(({ role }) => role === "columnheader")
          .map(({ name }) => name),
        rows: rows.map((row) => {
          const { level, expanded, selected } = row;
          const used = nodesOf(row).filter(({ role }) => role === "link" || role === "button");
          return { level, expanded, selected, used: used.map(({ role, name }) => `${role} ${name}`) };
        }),
        cells: rows.map((row) => nodesOf(row).filter(({ role }) => role === "gridcell").length),
      };
    };
    const lead = { level: 1, selected: true, used: [/^link How does the queue drain\?/, "button Show child sessions"] };
    await page.getByText("▸ children").waitFor();
    const columns = ["Session", "Agent", "Status", "Steps", "Tokens", "Cost", "Active"];
    const [folded] = [await list()];
    expect(folded).toMatchObject({ name: "Sessions", columns, cells: [7] });
    expect(folded.rows).toEqual([rowLike({ ...lead, expanded: false })]);
    await page.keyboard.press("ArrowRight");
    await page.locator("#session-1").waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("ArrowRight");
    await page.locator("#session-2").waitFor();
    const { rows, cells } = await list();
    expect(cells).toEqual([7, 7, 7]);
    expect(rows).toEqual([
      rowLike({ level: 1, selected: false, expanded: true, used: [/^link How does/, "button Hide child sessions"] }),
      rowLike({ level: 2, selected: true, expanded: true, used: [/^link Find out/, "button Hide child sessions"] }),
      rowLike({ level: 3, selected: false, expanded: undefined, used: [/^link Find out/] }),
    ]);
  },
);

function rowLike({ used, ...row }: { readonly used: readonly (string | RegExp)[]; readonly [name: string]: unknown }) {
  return { ...row, used: used.map((one) => expect.stringMatching(one)) };
}

test("whatever can be used has a name, on every screen", verifies("UI-2"), async () => {
  const { page, at, session } = await openWaiting();
  const screens: readonly (readonly [path: string, selector: string, key?: string])[] = [
    ["", "main.sessions #session-0"],
    [session, ".line.step.selected"],
    [session, ".token-bar", "r"],
    [session, "main.log .line.event", "l"],
    [`${session}/cost`, "main.costs"],
    [`${session}/replay`, "main.replay"],
    ["approvals", ".approval-detail .input-box"],
    ["approvals", ".editor", "e"],
  ];
  for (const [path, selector, key] of screens) {
    await at(path);
    await page.locator(path === "approvals" ? ".input-box" : "main").waitFor();
    if (path === session) await page.getByText("I change the loop").waitFor();
    const shown = page.locator(selector).first();
    if (key !== undefined && path === "approvals") await pressUntil(page, key, shown);
    else if (key !== undefined) await page.keyboard.press(key);
    await shown.waitFor();
    const elements = await elementsOf(page);
    expect(elements.length, selector).toBeGreaterThan(10);
    // Assistive technology is not told of what stands in an option.
    const hidden = "[role=option] :is(a, button, input, select, textarea, summary, [tabindex])";
    expect(await page.locator(hidden).count(), selector).toBe(0);
    expect(
      elements.filter((one) => mustBeNamed.test(one)),
      selector,
    ).toEqual([]);
  }
});

test("the measures of a screen find what is pale, and what is cut off", async () => {
  const { page, at, session } = await openWaiting();
  await at(session);
  await page.locator(".line.step").first().waitFor();
  expect(await findLowContrast(page)).toEqual([]);
  expect(await findClipped(page)).toEqual([]);
  await page.evaluate('document.querySelector("h1").style.color = "#999"');
  expect(await findLowContrast(page)).toEqual([expect.stringMatching(/^h1\.cut Fix the flaky test .* 2\.\d+$/)]);
  await page.evaluate('document.querySelector("h1").style.color = ""');
  await page.evaluate('document.querySelector(".views").style.transform = "translateX(60px)"');
  expect(await findClipped(page)).toEqual(["a. Replay", "the page can be scrolled sideways"]);
});

test("a time is relative, and exact for whoever has the focus on it", verifies("UI-2"), async () => {
  const { page, at, session } = await openWaiting();
  const exact = /^"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}"$/;
  const shown = (selector: string) =>
    page.evaluate<string>(`getComputedStyle(document.querySelector(${JSON.stringify(selector)}), "::after").content`);
  await page.locator("#session-0").waitFor();
  const time = "#session-0 time";
  expect(await shown(time)).toBe("none");
  // The list has one place among those that the tab key goes through: its rows and what is in them have none.
  for (let count = 0; (await shown(time)) === "none" && count < 12; count += 1) await page.keyboard.press("Tab");
  expect(await shown(time)).toMatch(exact);
  await page.keyboard.press("Shift+Tab");
  expect(await shown(time)).toBe("none");
  await at(session);
  await page.locator(".line.step").first().waitFor();
  const began = ".step-head time";
  await page.getByRole("button", { name: "Fork" }).waitFor();
  await page.evaluate(`document.querySelector("${began}").focus({ focusVisible: true })`);
  expect(await shown(began)).toMatch(exact);
});

test("nothing moves by itself for whoever asked for less motion", verifies("UI-2"), async () => {
  const { page, at, session } = await openWaiting();
  await at(session);
  await page.locator(".line.step").first().waitFor();
  // A sign of work under way, which breathes otherwise.
  const moving = async (reducedMotion: "reduce" | "no-preference") => {
    await page.emulateMedia({ reducedMotion });
    return page.evaluate<number>(`(() => {
      document.querySelector(".line.step .icon").classList.add("running");
      return document.getAnimations().length;
    })()`);
  };
  expect(await moving("no-preference")).toBe(1);
  expect(await moving("reduce")).toBe(0);
});
