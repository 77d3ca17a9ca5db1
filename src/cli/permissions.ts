/**
 * Which calls run without being asked for (SEC-5): those that change nothing, and what the person has allowed in this run.
 */
import type { CanExecuteTool } from "../index.js";

export type Permissions = {
  readonly canExecuteTool: CanExecuteTool;
  /** The person said yes to this tool beforehand. */
  readonly isAllowed: (tool: string) => boolean;
  /** Allows a tool until the process ends. */
  readonly allow: (tool: string) => void;
};

export type PermissionOptions = {
  readonly allowAll: boolean;
  /** How long a question waits before it counts as denied; for ever unless given. */
  readonly expiresInMs?: number | undefined;
};

export function createPermissions({ allowAll, expiresInMs }: PermissionOptions): Permissions {
  const asked = expiresInMs === undefined ? "ask" : ({ verdict: "ask", expiresInMs } as const);
  const allowed = new Set<string>();
  const isAllowed = (tool: string) => allowAll || allowed.has(tool);
  return {
    canExecuteTool: ({ tool }) => (tool.readOnly || isAllowed(tool.name) ? "allow" : asked),
    isAllowed,
    allow: (tool) => allowed.add(tool),
  };
}
