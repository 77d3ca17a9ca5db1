/**
 * The screens of one session, as links.
 */
import type { SessionScreen } from "../state/route.js";
import { RouteLink } from "./common.js";

const views = [
  ["session", "Steps"],
  ["log", "Log"],
  ["cost", "Cost"],
  ["replay", "Replay"],
] as const satisfies readonly (readonly [SessionScreen, string])[];

export function SessionViews({ sessionId, screen }: { readonly sessionId: string; readonly screen: SessionScreen }) {
  return (
    <nav class="views" aria-label="Views of this session">
      {views.map(([name, title]) => (
        <RouteLink
          to={name === "session" ? { screen: name, sessionId, tab: "step" } : { screen: name, sessionId }}
          aria-current={name === screen ? "page" : undefined}
          key={name}
        >
          {title}
        </RouteLink>
      ))}
    </nav>
  );
}
