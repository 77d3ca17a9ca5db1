/**
 * React hooks that several screens share.
 */
import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatErrorMessage } from "../api.js";
import type { Inspector } from "../inspector.js";
import type { Loaded } from "../state/session-state.js";

export const InspectorContext = createContext<Inspector | null>(null);

export function useInspector(): Inspector {
  const inspector = useContext(InspectorContext);
  if (inspector === null) throw new Error("useInspector() was called outside of InspectorContext.");
  return inspector;
}

/** Loads a value, and loads it again when a dependency changes. Until then, the previous value is shown. */
export function useLoaded<Value>(load: () => Promise<Value>, dependencies: readonly unknown[]): Loaded<Value> {
  const [loaded, setLoaded] = useState<Loaded<Value>>({ status: "loading" });
  useEffect(() => {
    let isCurrent = true;
    load().then(
      (value) => isCurrent && setLoaded({ status: "ready", value }),
      (error: unknown) => isCurrent && setLoaded({ status: "failed", message: formatErrorMessage(error) }),
    );
    return () => {
      isCurrent = false;
    };
  }, dependencies);
  return loaded;
}

/** The current time, updated at an interval. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

export type KeyHandlers = { readonly [key: string]: ((event: KeyboardEvent) => void) | undefined };

/** Handles single keys, except in text fields. They work as soon as the component is mounted. */
export function useKeys(keys: KeyHandlers): void {
  const currentKeys = useRef(keys);
  currentKeys.current = keys;
  useLayoutEffect(() => {
    const handleKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTextField(event.target)) return;
      const handler = currentKeys.current[event.key];
      if (handler === undefined) return;
      event.preventDefault();
      handler(event);
    };
    addEventListener("keydown", handleKeyDown);
    return () => removeEventListener("keydown", handleKeyDown);
  }, []);
}

function isTextField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}

/** Whether the window is too narrow for two panes. */
export function useIsNarrow(): boolean {
  const query = "(max-width: 760px)";
  const [isNarrow, setIsNarrow] = useState(matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const updateIsNarrow = () => setIsNarrow(media.matches);
    media.addEventListener("change", updateIsNarrow);
    return () => media.removeEventListener("change", updateIsNarrow);
  }, []);
  return isNarrow;
}
