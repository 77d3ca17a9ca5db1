/**
 * Which calls run without a question (SEC-5): calls of read-only tools, and of tools that the person allowed for this
 * run.
 */
import type { CanExecuteTool } from "../index.js";

export type Permissions = {
  readonly canExecuteTool: CanExecuteTool;
  /** Whether the person allowed this tool in advance. */
  readonly isAllowed: (tool: string) => boolean;
  /** Allows a tool until the process ends. */
  readonly allow: (tool: string) => void;
};

export type PermissionOptions = {
  readonly allowAll: boolean;
  /** A call that nobody answers within this time counts as denied; milliseconds. Default: it waits for ever. */
  readonly expiresInMs?: number | undefined;
};

export function createPermissions({ allowAll, expiresInMs }: PermissionOptions): Permissions {
  const ask = expiresInMs === undefined ? "ask" : ({ verdict: "ask", expiresInMs } as const);
  const allowed = new Set<string>();
  const isAllowed = (tool: string) => allowAll || allowed.has(tool);
  return {
    canExecuteTool: ({ tool }) => (tool.readOnly || isAllowed(tool.name) ? "allow" : ask),
    isAllowed,
    allow: (tool) => allowed.add(tool),
  };
}
