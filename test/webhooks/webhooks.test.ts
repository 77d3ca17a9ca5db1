/**
 * Signatures of webhooks: the examples of their specifications, and whatever differs from them.
 */
import { createHash, createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { github, standard, stripe, WebhookError } from "../../src/webhooks/index.js";
import { verifies } from "../verifies.js";

const proven = verifies("TIME-5");
const encode = (text: string) => new TextEncoder().encode(text);
const request = (headers: Record<string, string>) => ({ headers: new Headers(headers) });

describe("standard()", () => {
  // The example of the specification.
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const body = '{"test": 2432232314}';
  const headers = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  };
  const now = () => 1_614_265_330_000;

  test("accepts the example of the specification, and one of several signatures and secrets", proven, async () => {
    const delivery = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", value: { test: 2_432_232_314 } };
    expect(await standard(secret, { now })(request(headers), encode(body))).toEqual(delivery);
    const several = { ...headers, "webhook-signature": `v1a,AAAA v1,AAAA ${headers["webhook-signature"]}` };
    expect(await standard(["whsec_AAAA", secret], { now })(request(several), encode(body))).toEqual(delivery);
  });

  test.each<[string, object]>([
    ["another body", { body: '{"test": 2432232315}' }],
    ["another id", { headers: { "webhook-id": "msg_other" } }],
    [
      "another version of the scheme",
      { headers: { "webhook-signature": headers["webhook-signature"].replace("v1", "v2") } },
    ],
    ["a signature that is not base64", { headers: { "webhook-signature": "v1,*" } }],
    ["a secret of somebody else", { secret: "whsec_AAAAAAAA" }],
    ["a delivery of six minutes ago", { now: () => now() + 6 * 60_000 }],
    ["a delivery from the future", { now: () => now() - 6 * 60_000 }],
    ["no timestamp", { headers: { "webhook-timestamp": "" } }],
    ["a timestamp that is not a number", { headers: { "webhook-timestamp": "1614265330x" } }],
    ["a header that is too long", { headers: { "webhook-signature": "v1,".repeat(2_000) } }],
  ])("refuses %s", proven, async (_, change) => {
    const given = { secret, body, now, headers: {}, ...change };
    const verify = standard(given.secret, { now: given.now });
    await expect(verify(request({ ...headers, ...given.headers }), encode(given.body))).rejects.toThrow(WebhookError);
  });
});

describe("github()", () => {
  test("accepts the signature of GitHub's example", proven, async () => {
    const signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    const headers = { "x-hub-signature-256": signature, "x-github-delivery": "d1" };
    // The text of the example is not JSON, which is looked at after its signature.
    const verified = github("It's a Secret to Everybody")(request(headers), encode("Hello, World!"));
    await expect(verified).rejects.toThrow(/^The body is not JSON/);
    const other = github("It's a Secret to Everybody")(request(headers), encode("Hello, World?"));
    await expect(other).rejects.toThrow("The signature does not match.");
    const sha1 = github("x")(request({ ...headers, "x-hub-signature-256": "sha1=00" }), encode("{}"));
    await expect(sha1).rejects.toThrow(/not a SHA-256 signature/);
  });

  const sign = (body: string) => `sha256=${createHmac("sha256", "s").update(body).digest("hex")}`;

  test("gives the hash of the body as the id, because the id of the delivery is not signed", proven, async () => {
    const body = '{"action":"opened"}';
    const id = createHash("sha256").update(body).digest("hex");
    for (const delivery of ["d1", "d2"]) {
      const headers = { "x-hub-signature-256": sign(body), "x-github-delivery": delivery };
      expect(await github("s")(request(headers), encode(body))).toEqual({ id, value: { action: "opened" } });
    }
  });

  test("refuses a form, and names the content type to choose", proven, async () => {
    const body = "payload=%7B%7D";
    const headers = { "x-hub-signature-256": sign(body), "content-type": "application/x-www-form-urlencoded" };
    await expect(github("s")(request(headers), encode(body))).rejects.toThrow(/content type to application\/json/);
  });
});

describe("stripe()", () => {
  const sign = (body: string, at: number, secret = "whsec_a") =>
    `t=${at},v1=${createHmac("sha256", secret).update(`${at}.${body}`).digest("hex")},v0=00`;
  const now = () => 1_700_000_000_000;

  test("accepts a signature of one of its secrets, and gives the id of the event", proven, async () => {
    const body = '{"id":"evt_1","type":"paid"}';
    const verify = stripe(["whsec_b", "whsec_a"], { now });
    const signed = request({ "stripe-signature": sign(body, 1_700_000_000) });
    expect(await verify(signed, encode(body))).toEqual({ id: "evt_1", value: { id: "evt_1", type: "paid" } });
  });

  test.each([
    ["an old event", '{"id":"evt_1"}', 1_699_999_600, "whsec_a"],
    ["another secret", '{"id":"evt_1"}', 1_700_000_000, "whsec_c"],
    ["an event without an id", "{}", 1_700_000_000, "whsec_a"],
    ["a body that is not JSON", "{", 1_700_000_000, "whsec_a"],
  ])("refuses %s", proven, async (_, body, at, secret) => {
    const signed = request({ "stripe-signature": sign(body, at, secret) });
    await expect(stripe("whsec_a", { now })(signed, encode(body))).rejects.toThrow(WebhookError);
  });
});

test.each([
  ["standard", () => standard("")],
  ["standard, of what is not base64", () => standard("whsec_*")],
  ["github", () => github([])],
  ["stripe", () => stripe(process.env.PAWL_NO_SUCH_VARIABLE as never)],
])("a secret that is missing is refused at once: %s", proven, (_, create) => {
  expect(create).toThrow(expect.objectContaining({ code: "bad_configuration" }));
});

test("a secret of Standard Webhooks that is not base64 is refused with its form", () => {
  expect(() => standard("whsec_hello")).toThrow(
    "standard() needs the webhook's secret, in base64, usually after whsec_.",
  );
});
