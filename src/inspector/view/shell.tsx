/**
 * The frame of every screen: the location, the waiting calls, the connection to the server, and the keys.
 */

import { useEffect, useLayoutEffect, useReducer, useState } from "preact/hooks";
import { showHidden } from "../../core/data/hidden-characters.js";
import type { Inspector } from "../inspector.js";
import type { Access, AppState } from "../state/app-state.js";
import { ApprovalsPage } from "./approvals-page.js";
import { EmptyState, RouteLink } from "./common.js";
import { CostPage } from "./cost-page.js";
import { EvalsPage } from "./evals-page.js";
import { ForkDialog } from "./fork-dialog.js";
import { HelpDialog } from "./help-dialog.js";
import { InspectorContext, useInspector, useKeys } from "./hooks.js";
import { LogPage } from "./log-page.js";
import { OpenDialog } from "./open-dialog.js";
import { ReplayPage } from "./replay-page.js";
import { SchedulesPage } from "./schedules-page.js";
import { SessionList } from "./session-list.js";
import { SessionPage } from "./session-page.js";

export function Shell({ inspector }: { readonly inspector: Inspector }) {
  const [, render] = useReducer((count: number) => count + 1, 0);
  // In a layout effect, before the browser paints: no change might follow the first one, so it must not be missed.
  useLayoutEffect(() => inspector.subscribe(() => render(undefined)), [inspector]);
  const state = inspector.state();
  return (
    <InspectorContext.Provider value={inspector}>
      {state.access === "in" ? <SignedIn state={state} /> : <SignedOut access={state.access} />}
    </InspectorContext.Provider>
  );
}

function SignedIn({ state }: { readonly state: AppState }) {
  const inspector = useInspector();
  useKeys({
    "?": () => inspector.dispatch({ type: "help", isOpen: !state.isHelpOpen }),
    s: () => inspector.navigate({ screen: "sessions" }),
  });
  useEffect(() => {
    document.title = formatTitle(state);
  });
  return (
    <>
      <TopBar state={state} />
      {state.connection === "lost" && (
        <p class="lost" role="status">
          The connection to the server was lost. The page shows the last known data, and reconnects automatically.
        </p>
      )}
      <Screen state={state} />
      {state.fork !== null && state.session !== null && <ForkDialog session={state.session} point={state.fork} />}
      <OpenDialog />
      {state.isHelpOpen && <HelpDialog onClose={() => inspector.dispatch({ type: "help", isOpen: false })} />}
    </>
  );
}

/** The titles of the screens that are pages of their own; null for the list of sessions and the screens of a session. */
const pages: { readonly [screen in AppState["route"]["screen"]]: string | null } = {
  sessions: null,
  approvals: "Approvals",
  session: null,
  log: null,
  cost: null,
  schedules: "Schedules",
  evals: "Evals",
  replay: null,
};

function formatTitle({ route, approvals, session }: AppState): string {
  const count = approvals.count > 0 ? `(${approvals.count}${approvals.isMore ? "+" : ""}) ` : "";
  const page = pages[route.screen];
  if (page !== null) return `${count}${(route.screen === "evals" ? route.name : undefined) ?? page} – Pawl`;
  const title = session?.now.status === "ready" ? session.now.value.info?.title : undefined;
  return `${count}${title === undefined ? "Sessions" : title.slice(0, 80)} – Pawl`;
}

function Screen({ state }: { readonly state: AppState }) {
  const { route, session } = state;
  switch (route.screen) {
    case "sessions":
      return <SessionList list={state.list} waiting={state.approvals.count} />;
    case "approvals":
      return <ApprovalsPage approvals={state.approvals} route={route} />;
    case "session":
      return session === null ? null : <SessionPage session={session} route={route} key={session.id} />;
    case "log":
      return session === null ? null : <LogPage session={session} route={route} key={session.id} />;
    case "cost":
      return session === null ? null : <CostPage session={session} key={session.id} />;
    case "schedules":
      return <SchedulesPage />;
    case "evals":
      return <EvalsPage route={route} />;
    case "replay":
      return session === null ? null : <ReplayPage session={session} key={session.id} />;
  }
}

function TopBar({ state }: { readonly state: AppState }) {
  const inspector = useInspector();
  const { route, approvals, connection } = state;
  const isOnSessions = pages[route.screen] === null;
  return (
    <header class="top">
      <RouteLink to={{ screen: "sessions" }} class="brand" title="All sessions">
        <Logo />
        Pawl
      </RouteLink>
      <nav aria-label="Screens">
        <RouteLink to={{ screen: "sessions" }} aria-current={isOnSessions ? "page" : undefined}>
          Sessions
        </RouteLink>
        <RouteLink to={{ screen: "approvals" }} aria-current={route.screen === "approvals" ? "page" : undefined}>
          Approvals
          {approvals.count > 0 && (
            <span class="badge num">
              {approvals.count}
              {approvals.isMore && "+"}
            </span>
          )}
        </RouteLink>
        <RouteLink to={{ screen: "schedules" }} aria-current={route.screen === "schedules" ? "page" : undefined}>
          Schedules
        </RouteLink>
        <RouteLink to={{ screen: "evals" }} aria-current={route.screen === "evals" ? "page" : undefined}>
          Evals
        </RouteLink>
      </nav>
      <span class={`connection ${connection}`} role="status">
        {connection === "open" ? "live" : connection === "lost" ? "offline" : "connecting"}
      </span>
      <ThemeButton />
      <button
        type="button"
        class="quiet icon-button keys"
        aria-label="Keys"
        title="Keys (?)"
        onClick={() => inspector.dispatch({ type: "help", isOpen: true })}
      >
        ?
      </button>
    </header>
  );
}

/** A ratchet tooth and its pawl. */
function Logo() {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" class="mark">
      <path d="M2 13 8 3l1.5 4H14L8 13Z" fill="currentColor" />
    </svg>
  );
}

type Theme = "system" | "light" | "dark";
const nextTheme = { system: "dark", dark: "light", light: "system" } as const;

function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(() => parseTheme(localStorage.getItem("pawl.theme")));
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("pawl.theme", theme);
  }, [theme]);
  const label = `Colors: ${theme}`;
  return (
    <button
      type="button"
      class="quiet icon-button"
      aria-label={label}
      title={label}
      onClick={() => setTheme(nextTheme[theme])}
    >
      <svg viewBox="0 0 12 12" width="14" height="14" aria-hidden="true">
        <circle cx="6" cy="6" r="4.5" fill="none" stroke="currentColor" />
        <path d={theme === "light" ? "" : "M6 1.5a4.5 4.5 0 0 1 0 9Z"} fill="currentColor" />
        {theme === "dark" && <circle cx="6" cy="6" r="4.5" fill="currentColor" />}
      </svg>
    </button>
  );
}

function parseTheme(text: string | null): Theme {
  return text === "light" || text === "dark" ? text : "system";
}

const accessMessages: {
  readonly [access in Exclude<Access, "in" | "checking" | "other_login">]: readonly [title: string, text: string];
} = {
  no_key: [
    "This page needs a link",
    "The link contains a code that gives this browser access. The server prints the link when it starts.",
  ],
  used: ["This link was already used, or has expired", "A link works once, within ten minutes. Get a new one."],
  refused: [
    "Your access has expired",
    "A link gives a browser access for at most 8 hours, or until the server stops. Get a new one.",
  ],
  stranger: [
    "Another program answers at this address",
    "It could not prove that it is the server that gave this page access, so the page has not sent it your key. The server may have stopped, and another program on this machine may be listening in its place. Start the server again.",
  ],
};

/** A link from another person must not silently switch this browser to another login. */
function OtherLogin() {
  const inspector = useInspector();
  const { from = "", to = "" } = inspector.otherLogin() ?? {};
  return (
    <main class="outside">
      <EmptyState title="This link is for another login">
        <p>
          This browser acts as <strong>{showHidden(from)}</strong>. With the link, everything you do here is recorded as
          done by <strong>{showHidden(to)}</strong>. Continue only if you requested this link.
        </p>
        <p class="choices">
          <button type="button" onClick={() => void inspector.chooseLogin("present")}>
            Stay as {showHidden(from)}
          </button>
          <button type="button" onClick={() => void inspector.chooseLogin("link")}>
            Act as {showHidden(to)}
          </button>
        </p>
      </EmptyState>
    </main>
  );
}

function SignedOut({ access }: { readonly access: Exclude<Access, "in"> }) {
  if (access === "checking") return <p class="loading center">…</p>;
  if (access === "other_login") return <OtherLogin />;
  const [title, text] = accessMessages[access];
  return (
    <main class="outside">
      <EmptyState title={title}>
        <p>{text}</p>
        <pre>pawl ui</pre>
      </EmptyState>
    </main>
  );
}
