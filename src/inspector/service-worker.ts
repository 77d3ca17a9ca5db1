/**
 * The service worker of the inspector. It shows the notices that come by Web Push, and opens their session when they are clicked. It handles
 * no requests.
 */

type Waits = { readonly waitUntil: (work: Promise<unknown>) => void };
type PushEvent = Waits & { readonly data: { readonly json: () => unknown } | null };
type ClickEvent = Waits & {
  readonly notification: { readonly close: () => void; readonly data: unknown };
};
type OpenPage = {
  readonly url: string;
  readonly focus: () => Promise<unknown>;
  readonly postMessage: (message: unknown) => void;
};
/** The part of the global scope that is used: the types of pages and of workers cannot be loaded together. */
type WorkerScope = {
  readonly location: { readonly href: string };
  readonly registration: Pick<ServiceWorkerRegistration, "showNotification">;
  readonly clients: {
    readonly matchAll: (options: object) => Promise<readonly OpenPage[]>;
    readonly openWindow: (url: string) => Promise<unknown>;
  };
  readonly addEventListener: {
    (type: "push", listener: (event: PushEvent) => void): void;
    (type: "notificationclick", listener: (event: ClickEvent) => void): void;
  };
};

const worker = self as unknown as WorkerScope;

worker.addEventListener("push", (event) => {
  const { title, link } = parseMessage(event.data);
  // The same session again: the newer notice replaces the older one.
  const options = { tag: link, renotify: true, data: link };
  event.waitUntil(worker.registration.showNotification(title, options));
});

worker.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(checkLink(event.notification.data)));
});

async function open(link: string): Promise<void> {
  const base = new URL("../", worker.location.href).href;
  const pages = await worker.clients.matchAll({ type: "window", includeUncontrolled: true });
  const page = pages.find(({ url }) => trimEnd(url) === trimEnd(base));
  if (page === undefined) return void (await worker.clients.openWindow(base + link));
  page.postMessage({ type: "open", link });
  // The browser may refuse: then the page shows the session when the person comes to it.
  await page.focus().catch(() => {});
}

/** A server may be mounted at a path without a slash at its end. */
function trimEnd(url: string): string {
  return url.replace(/#.*$/, "").replace(/\/$/, "");
}

function parseMessage(data: PushEvent["data"]): { readonly title: string; readonly link: string } {
  let message: unknown = null;
  try {
    message = data?.json();
  } catch {
    // Browsers require that each push shows a notice.
  }
  const { title, link } = (message ?? {}) as { readonly title?: unknown; readonly link?: unknown };
  return { title: typeof title === "string" ? title : "Pawl", link: checkLink(link) };
}

/** A fragment of the inspector, and nothing else. */
function checkLink(link: unknown): string {
  return typeof link === "string" && link.startsWith("#/") ? link : "#/";
}
