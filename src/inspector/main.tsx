/**
 * The inspector: a page on which a person sees what agents are doing and have done, and makes decisions. Like any other client, it uses the
 * server's public routes.
 */
import { render } from "preact";
import { createApi } from "./api.js";
import { createInspector } from "./inspector.js";
import { createPageKey } from "./page-key.js";
import { listenForClicks } from "./push.js";
import { parseRoute } from "./state/route.js";
import { Shell } from "./view/shell.js";

/** The path under which the server is mounted: this script is one of its files. */
const base = new URL(import.meta.url).pathname.replace(/\/ui\/[^/]*$/, "");

const key = createPageKey(base);
const api = createApi(base, key.half, {
  onRefused() {
    key.forget();
    inspector.dispatch({ type: "access", access: "refused" });
  },
  onStranger: () => inspector.dispatch({ type: "access", access: "stranger" }),
});
const inspector = createInspector(api, key);
const root = document.getElementById("page");
if (root !== null) render(<Shell inspector={inspector} />, root);
listenForClicks((link) => inspector.navigate(parseRoute(link)));
void inspector.start();
