/**
 * Loads `@opentelemetry/api`, an optional peer dependency, on first use, so that this entry point loads without it.
 */
import { createRequire } from "node:module";
import type * as Api from "@opentelemetry/api";
import { PawlError } from "../index.js";

export type OpenTelemetryApi = typeof Api;

/** `require` is safe: tracer providers are registered globally, not with one copy of the package. */
export function loadOpenTelemetryApi(): OpenTelemetryApi {
  try {
    return createRequire(import.meta.url)("@opentelemetry/api");
  } catch (cause) {
    throw new PawlError(
      "missing_package",
      "OpenTelemetry spans need the package @opentelemetry/api, which could not be loaded. Install it: npm install @opentelemetry/api",
      { cause },
    );
  }
}
