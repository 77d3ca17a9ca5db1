/**
 * A button that opens the fork dialog.
 */
import type { ForkPoint } from "../state/fork.js";
import { useInspector } from "./hooks.js";

export function ForkButton({ point }: { readonly point: ForkPoint }) {
  const inspector = useInspector();
  return (
    <button
      type="button"
      class="quiet"
      title="A new session with the history up to here (f)"
      onClick={() => inspector.dispatch({ type: "fork", point })}
    >
      Fork
    </button>
  );
}
