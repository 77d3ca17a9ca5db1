/**
 * Notifications on the desktop: for which terminals, when, and with which text.
 */
import { expect, test } from "vitest";
import { createDesktopNotifications, longWorkMs } from "../../src/cli/conversation/fronts/desktop-notifications.js";
import { createKeyReader } from "../../src/cli/screen/keys.js";
import { chooseNotificationProtocol, formatDesktopNotification } from "../../src/cli/terminal/desktop-notification.js";
import { verifies } from "../verifies.js";

test.each([
  [{ TERM: "xterm-256color" }, null],
  [{ TERM: "xterm-256color", TERM_PROGRAM: "iTerm.app" }, "osc 9"],
  [{ TERM: "xterm-256color", TERM_PROGRAM: "iTerm.app", TMUX: "/tmp/tmux" }, null],
  [{ TERM: "screen-256color", TERM_PROGRAM: "WezTerm" }, null],
  [{ TERM: "xterm-256color", TERM_PROGRAM: "WezTerm" }, "osc 777"],
  [{ TERM: "xterm-kitty" }, "osc 99"],
  [{ TERM: "foot-extra" }, "osc 777"],
])("the terminal of %o has the protocol %s", (environment, protocol) => {
  expect(chooseNotificationProtocol(environment)).toBe(protocol);
});

test("text cannot end a notice or add to it", verifies("CHAT-4#settings"), () => {
  const hostile = `x\x1b\\\x07\x9c\n;y${"z".repeat(500)}`;
  for (const protocol of ["osc 9", "osc 777", "osc 99"] as const) {
    const notice = formatDesktopNotification(protocol, hostile);
    expect(notice.length).toBeLessThan(150);
    expect(notice.slice(2, -2)).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
  }
  expect(formatDesktopNotification("osc 777", hostile).split(";")).toHaveLength(4);
});

test("the key reader reports the focus, and no key", () => {
  const [keys, focus]: [unknown[], boolean[]] = [[], []];
  const reader = createKeyReader(
    (key) => keys.push(key),
    (hasFocus) => focus.push(hasFocus),
  );
  for (const chunk of ["\x1b[O", "\x1b", "[I", "a"]) reader.feed(chunk);
  reader.close();
  expect({ keys, focus }).toEqual({ keys: [{ type: "text", text: "a" }], focus: [false, true] });
});

/** @param environment that of the terminal */
function watch(environment: { readonly [name: string]: string }) {
  const written: string[] = [];
  let [hasFocus, isWatched] = [false, false];
  const notices = createDesktopNotifications(
    {
      write: (text: string) => written.push(text) > 0,
      watchFocus() {
        isWatched = true;
        return () => hasFocus;
      },
    },
    environment,
  );
  return {
    notices,
    written,
    isWatched: () => isWatched,
    focus: (has: boolean) => {
      hasFocus = has;
    },
  };
}

test("come only without the focus, and at the end of long work", verifies("CHAT-4#settings"), () => {
  const { notices, written, focus } = watch({ TERM: "xterm-kitty" });
  notices.use(true);
  notices.setAtWork(true, 0);
  notices.setAtWork(false, longWorkMs - 1);
  expect(written).toEqual([]);
  notices.setAtWork(true, 0);
  notices.setAtWork(true, longWorkMs - 1);
  notices.setAtWork(false, longWorkMs);
  notices.setAtWork(false, 3 * longWorkMs);
  expect(written).toEqual(["\x1b]99;;Pawl has finished\x1b\\"]);
  focus(true);
  notices.ask("pay");
  expect(written).toHaveLength(1);
  focus(false);
  notices.ask("pay");
  expect(written[1]).toContain("waits for your answer: pay");
});

test("are not possible in other terminals, and the focus is then not watched", () => {
  const { notices, written, isWatched } = watch({ TERM: "xterm-256color" });
  notices.use(true);
  notices.ask("pay");
  expect({ written, isWatched: isWatched() }).toEqual({ written: [], isWatched: false });
});
