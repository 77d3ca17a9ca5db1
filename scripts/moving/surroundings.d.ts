/** What is around the code in docs/moving, on both sides: a program's own, by the names that the pages give it. */

declare const shop: {
  refund(order: string, cents: number, idempotencyKey?: string): Promise<string>;
  charge(order: string, idempotencyKey?: string): Promise<string>;
  mail(text: string): Promise<void>;
  bill(): Promise<{ readonly id: string; readonly cents: number }>;
  pay(bill: string, account: string, idempotencyKey?: string): Promise<string>;
};
declare const files: { read(name: string): Promise<string>; write(name: string, text: string): Promise<void> };
declare function notifyApprover(what: unknown): Promise<void>;
declare function isAllowed(question: unknown): Promise<boolean>;
declare function tellsSecrets(text: string): boolean;
declare function topicOf(question: string): Promise<string>;
declare function userOf(request: Request): string;
declare function callModel(messages: readonly unknown[]): Promise<{
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
}>;
declare function callTool(name: string, input: unknown, idempotencyKey: string): Promise<string>;
