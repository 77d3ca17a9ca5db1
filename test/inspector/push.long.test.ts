/**
 * Notices in the browser: the switch in the inspector, and its service worker.
 *
 * Chromium receives pushes from Google's push service alone. So the page subscribes to a push service of the test, which decrypts what
 * the server sends; the protocol of DevTools then hands that message to the service worker.
 */
import { expect, test } from "vitest";
import { createMemoryStore } from "../../src/index.js";
import { createNotices } from "../../src/notices/index.js";
import { startPushService } from "../notices/push-service.js";
import { local } from "../notices/receiver.js";
import { startTestServer } from "../server/rig.js";
import { verifies } from "../verifies.js";
import { expectReadable, openBrowser, openInspector } from "./browser.js";
import { createMender, writeWaitingSession } from "./desk.js";

/** The parts of a context and of its service workers that this test needs. */
type PushContext = {
  readonly grantPermissions: (permissions: readonly string[]) => Promise<void>;
  readonly serviceWorkers: () => readonly { readonly evaluate: <Result>(script: string) => Promise<Result> }[];
  readonly newCDPSession: (page: unknown) => Promise<{
    readonly send: (method: string, params?: object) => Promise<unknown>;
    readonly on: (event: string, listener: (given: never) => void) => void;
  }>;
};

type Registrations = {
  readonly registrations: readonly { readonly registrationId: string; readonly scopeURL: string }[];
};

test(
  "the switch subscribes the browser, the service worker shows what waits, and a click opens the session",
  verifies("TIME-6#push"),
  async () => {
    const store = createMemoryStore();
    const { origin, pushes, subscription } = await startPushService();
    const notices = createNotices([], { push: { contact: "mailto:ops@example.org", ...local } });
    const rig = await startTestServer({ store, agents: [createMender(store)], ui: true, notices });
    const { page, context, problems } = await openInspector(await openBrowser(), rig);
    const pushContext = context as unknown as PushContext;
    await pushContext.grantPermissions(["notifications"]);
    await page.evaluate(replacePushService(subscription));
    await page.getByRole("link", { name: "Approvals" }).click();
    const notify = page.getByRole("checkbox", { name: "Notify me in this browser when a run waits or fails" });
    await notify.waitFor();
    await expectReadable(page, "push");
    await notify.click();
    await expect.poll(async () => (await store.notices?.destinations())?.length).toBe(1);

    const sessionId = await writeWaitingSession(store);
    await expect.poll(() => pushes.length).toBe(1);
    const [push] = pushes;
    if (push === undefined) throw new Error("There is no push.");
    const { title } = push.message as { readonly title: string };
    expect(push.claims.aud).toBe(origin);
    expect(push.message).toEqual({
      title: expect.stringMatching(/^mender waits for you: /),
      link: `#/sessions/${sessionId}`,
    });

    const devTools = await pushContext.newCDPSession(page);
    const found = new Promise<string>((resolve) => {
      devTools.on("ServiceWorker.workerRegistrationUpdated", (({ registrations }: Registrations) => {
        const ours = registrations.find(({ scopeURL }) => scopeURL === `${rig.url}/ui/`);
        if (ours !== undefined) resolve(ours.registrationId);
      }) as (given: never) => void);
    });
    await devTools.send("ServiceWorker.enable");
    const data = JSON.stringify(push.message);
    await devTools.send("ServiceWorker.deliverPushMessage", {
      origin: rig.url,
      registrationId: await found,
      data,
    });
    const shown = `navigator.serviceWorker.getRegistration("/ui/").then((one) => one.getNotifications())
      .then((all) => all.map(({ title, body, data }) => ({ title, body, data })))`;
    await expect.poll(() => page.evaluate(shown)).toEqual([{ title, body: "", data: `#/sessions/${sessionId}` }]);

    const [worker] = pushContext.serviceWorkers();
    await worker?.evaluate(`registration.getNotifications().then(([notification]) =>
      dispatchEvent(new NotificationEvent("notificationclick", { notification })))`);
    await page.waitForFunction(`location.hash.startsWith("#/sessions/${sessionId}")`);

    await page.getByRole("link", { name: "Approvals" }).click();
    await notify.click();
    await expect.poll(async () => (await store.notices?.destinations())?.length).toBe(0);
    expect(problems).toEqual([]);
  },
);

/** The page's push manager subscribes to the push service of the test. */
function replacePushService(subscription: {
  readonly endpoint: string;
  readonly p256dh: string;
  readonly auth: string;
}): string {
  const { endpoint, ...keys } = subscription;
  return `{
    let present = null;
    const decode = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
    PushManager.prototype.getSubscription = async () => present;
    PushManager.prototype.subscribe = async ({ applicationServerKey }) => present = {
      endpoint: ${JSON.stringify(endpoint)},
      options: { applicationServerKey: decode(applicationServerKey).buffer },
      toJSON: () => (${JSON.stringify({ endpoint, keys })}),
      unsubscribe: async () => { present = null; return true; },
    };
  }`;
}
