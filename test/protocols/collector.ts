/**
 * An endpoint for traces (OTLP over HTTP, JSON) on a port of its own, and the real SDK that exports to it.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { onTestFinished } from "vitest";

type AttributeValue = {
  readonly stringValue?: string;
  readonly intValue?: number;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values: readonly AttributeValue[] };
};
type Attribute = { readonly key: string; readonly value: AttributeValue };

/** What arrived. Times are nanoseconds; `error` is the message of a span that says it failed. */
export type ExportedSpan = {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly kind: "internal" | "client";
  readonly from: bigint;
  readonly to: bigint;
  readonly attributes: { readonly [key: string]: unknown };
  readonly events: readonly { readonly name: string; readonly attributes: { readonly [key: string]: unknown } }[];
  readonly links: readonly { readonly traceId: string }[];
  readonly error: string | undefined;
};

type WireSpan = {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly events: readonly { readonly name: string; readonly attributes: readonly Attribute[] }[];
  readonly links: readonly { readonly traceId: string }[];
  readonly status: { readonly code: number; readonly message?: string };
};

export async function startCollector() {
  const spans: ExportedSpan[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString());
    for (const { scopeSpans } of resourceSpans)
      for (const scope of scopeSpans) for (const span of scope.spans) spans.push(decodeSpan(span));
    response.setHeader("content-type", "application/json").end("{}");
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const exporter = new OTLPTraceExporter({ url: `http://127.0.0.1:${port}/v1/traces` });
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  onTestFinished(async () => {
    await provider.shutdown();
    await new Promise((closed) => server.close(closed));
  });
  return {
    tracer: provider.getTracer("test"),
    async exported(): Promise<readonly ExportedSpan[]> {
      await provider.forceFlush();
      return [...spans];
    },
  };
}

function decodeSpan(span: WireSpan): ExportedSpan {
  const { name, traceId, spanId, parentSpanId, kind, attributes, events, links = [], status } = span;
  return {
    name,
    traceId,
    spanId,
    parentSpanId,
    kind: kind === 3 ? "client" : "internal",
    from: BigInt(span.startTimeUnixNano),
    to: BigInt(span.endTimeUnixNano),
    attributes: decodeAttributes(attributes),
    events: events.map((event) => ({ name: event.name, attributes: decodeAttributes(event.attributes) })),
    links,
    error: status.code === 2 ? (status.message ?? "") : undefined,
  };
}

function decodeAttributes(attributes: readonly Attribute[]): ExportedSpan["attributes"] {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, decodeValue(value)]));
}

function decodeValue({ stringValue, intValue, doubleValue, arrayValue }: AttributeValue): unknown {
  return stringValue ?? intValue ?? doubleValue ?? arrayValue?.values.map(decodeValue);
}
