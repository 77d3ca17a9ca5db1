/**
 * The switch for notices of this browser. It is not shown if the browser or the server has no Web Push.
 */
import { useEffect, useState } from "preact/hooks";
import { formatErrorMessage } from "../api.js";
import { type PushState, readPushState, switchPushOff, switchPushOn } from "../push.js";
import { useInspector } from "./hooks.js";

export function PushSwitch() {
  const { api } = useInspector();
  const [state, setState] = useState<PushState>("unavailable");
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const run = async (change: (given: typeof api) => Promise<PushState>) => {
    setBusy(true);
    setProblem(null);
    try {
      setState(await change(api));
    } catch (error) {
      setProblem(formatErrorMessage(error));
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => void run(readPushState), []);
  if (state === "unavailable") return null;
  return (
    <p class="push-switch">
      {state === "blocked" ? (
        "The browser blocks notifications of this page. Allow them in its settings."
      ) : (
        <label>
          <input
            type="checkbox"
            checked={state === "on"}
            disabled={isBusy}
            onChange={() => void run(state === "on" ? switchPushOff : switchPushOn)}
          />{" "}
          Notify me in this browser when a run waits or fails
        </label>
      )}
      {problem !== null && (
        <span role="alert" class="warns">
          {" "}
          {problem}
        </span>
      )}
    </p>
  );
}
