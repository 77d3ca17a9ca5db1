/**
 * The tree that Chromium gives to assistive technology, as it is: what is in an element whose role hides it, is not there.
 */
import type { Context, Page } from "./browser.js";

export type AccessibleNode = {
  readonly role: string;
  readonly name: string;
  readonly level: number | undefined;
  readonly expanded: boolean | undefined;
  readonly selected: boolean | undefined;
  readonly children: readonly AccessibleNode[];
};

type Value = { readonly value?: unknown };

/** A node as the protocol of DevTools has it. One that is ignored has no role, but may have children. */
type Told = {
  readonly nodeId: string;
  readonly ignored: boolean;
  readonly role?: Value;
  readonly name?: Value;
  readonly properties?: readonly { readonly name: string; readonly value: Value }[];
  readonly childIds?: readonly string[];
};

export async function accessibilityTree(context: Context, page: Page): Promise<AccessibleNode> {
  const session = await context.newCDPSession(page);
  const { nodes } = (await session.send("Accessibility.getFullAXTree")) as { readonly nodes: readonly Told[] };
  await session.detach();
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  const [root] = nodes;
  if (root === undefined) throw new Error("Chromium gave no accessibility tree.");
  return nodeOf(root, byId);
}

function nodeOf(told: Told, byId: ReadonlyMap<string, Told>): AccessibleNode {
  const property = (name: string) => told.properties?.find((one) => one.name === name)?.value.value;
  const truth = (name: string) => {
    const value = property(name);
    return value === undefined ? undefined : value === true || value === "true";
  };
  const level = property("level");
  return {
    role: told.ignored ? "" : String(told.role?.value ?? ""),
    name: String(told.name?.value ?? ""),
    level: level === undefined ? undefined : Number(level),
    expanded: truth("expanded"),
    selected: truth("selected"),
    children: (told.childIds ?? []).flatMap((id) => {
      const child = byId.get(id);
      return child === undefined ? [] : [nodeOf(child, byId)];
    }),
  };
}

/** All that is below a node, in the order of the page. */
export function nodesOf(node: AccessibleNode | undefined): readonly AccessibleNode[] {
  return (node?.children ?? []).flatMap((child) => [child, ...nodesOf(child)]);
}
