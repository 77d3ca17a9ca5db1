/**
 * Notices of this browser by Web Push: whether they are on, and switching them on and off.
 */
import type { Api } from "./api.js";

/** `unavailable`: the browser or the server has no Web Push. `blocked`: the person has refused notifications of this page. */
export type PushState = "unavailable" | "blocked" | "off" | "on";

type Keys = { readonly publicKey: string | null };

/** Reads whether notices are on. Renews the subscription if they are. @throws ApiError */
export async function readPushState(api: Api): Promise<PushState> {
  if (!hasPush()) return "unavailable";
  const { publicKey } = await api.get<Keys>("/v1/push");
  if (publicKey === null) return "unavailable";
  if (Notification.permission === "denied") return "blocked";
  const subscription = await findSubscription(api);
  if (subscription === null || !usesKey(subscription, publicKey)) return "off";
  await sendSubscription(api, subscription, publicKey);
  return "on";
}

/** Asks the person for permission, and subscribes. @throws ApiError; Error or DOMException if the browser does not subscribe */
export async function switchPushOn(api: Api): Promise<PushState> {
  const permission = await Notification.requestPermission();
  if (permission !== "granted") return permission === "denied" ? "blocked" : "off";
  const { publicKey } = await api.get<Keys>("/v1/push");
  if (publicKey === null) return "unavailable";
  const registration = await navigator.serviceWorker.register(toScriptUrl(workerUrl(api)));
  await waitUntilActive(registration);
  const present = await registration.pushManager.getSubscription();
  if (present !== null && !usesKey(present, publicKey)) await present.unsubscribe();
  const subscription = await registration.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: publicKey,
  });
  await sendSubscription(api, subscription, publicKey);
  return "on";
}

/** @throws ApiError */
export async function switchPushOff(api: Api): Promise<PushState> {
  const subscription = await findSubscription(api);
  if (subscription === null) return "off";
  await api.post("/v1/push/unsubscribe", { endpoint: subscription.endpoint });
  await subscription.unsubscribe();
  return "off";
}

/** Calls the listener with the link of a notice that was clicked while the page was open. */
export function listenForClicks(onLink: (link: string) => void): void {
  if (!("serviceWorker" in navigator)) return;
  navigator.serviceWorker.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
    const { type, link } = (data ?? {}) as { readonly type?: unknown; readonly link?: unknown };
    if (type === "open" && typeof link === "string") onLink(link);
  });
}

function hasPush(): boolean {
  return "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;
}

async function findSubscription(api: Api): Promise<PushSubscription | null> {
  const registration = await navigator.serviceWorker.getRegistration(workerUrl(api));
  return (await registration?.pushManager.getSubscription()) ?? null;
}

async function sendSubscription(api: Api, subscription: PushSubscription, publicKey: string): Promise<void> {
  const { endpoint, keys } = subscription.toJSON();
  await api.post("/v1/push/subscribe", { endpoint, p256dh: keys?.p256dh, auth: keys?.auth, publicKey });
}

function usesKey({ options }: PushSubscription, publicKey: string): boolean {
  const bytes = new Uint8Array(options.applicationServerKey ?? new ArrayBuffer(0));
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "") === publicKey;
}

function waitUntilActive({ active, installing, waiting }: ServiceWorkerRegistration): Promise<void> {
  const worker = installing ?? waiting;
  if (active !== null || worker === null) return Promise.resolve();
  return new Promise((resolve, reject) => {
    worker.addEventListener("statechange", () => {
      if (worker.state === "activated") resolve();
      if (worker.state === "redundant") reject(new Error("The browser did not start the service worker. Try again."));
    });
  });
}

function workerUrl(api: Api): string {
  return api.url("/ui/service-worker.js");
}

type TrustedTypes = {
  readonly createPolicy: (
    name: string,
    rules: { readonly createScriptURL: (url: string) => string },
  ) => { readonly createScriptURL: (url: string) => string };
};

let policy: ReturnType<TrustedTypes["createPolicy"]> | null = null;

/** The server's content security policy allows this policy alone, once. */
function toScriptUrl(url: string): string {
  const { trustedTypes } = window as { readonly trustedTypes?: TrustedTypes };
  if (trustedTypes === undefined) return url;
  policy ??= trustedTypes.createPolicy("service-worker", { createScriptURL: (given) => given });
  return policy.createScriptURL(url);
}
