/**
 * Reads the package's declarations (`dist/**.d.ts`) into plain data: for each entry point its exports, each with its signature, its
 * sentences, and the members of its type as a tree.
 *
 * A type that is not exported by name is documented where it is met: within an intersection its members stand among the others; elsewhere
 * it is one of the `others` of the page.
 */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import ts from "typescript";
import { docOf, leadingDocOf, noDoc } from "./doc-comments.mjs";

const printer = ts.createPrinter({ removeComments: true });
const packageFile = JSON.parse(readFileSync("package.json", "utf8"));

/** The entry points with types, as `{ name, page, types }`. */
export const entryPoints = Object.entries(packageFile.exports)
  .filter(([, target]) => typeof target === "object")
  .map(([path, { types }]) => ({
    name: join(packageFile.name, path),
    page: `${join(packageFile.name, path).replaceAll("/", "-")}.md`,
    types: resolve(types),
  }));

/** Reads all entry points. An export of several of them is described in the first, and named in the others. */
export function readDeclarations() {
  const program = ts.createProgram(
    entryPoints.map(({ types }) => types),
    {
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2023,
      types: ["node"],
      skipLibCheck: true,
      noEmit: true,
    },
  );
  const checker = program.getTypeChecker();
  const places = new Map();
  const pages = entryPoints.map((entry) => {
    const file = program.getSourceFile(entry.types);
    if (file === undefined) throw new Error(`${entry.types} does not exist; build first: npm run build`);
    const exported = checker
      .getExportsOfModule(checker.getSymbolAtLocation(file))
      .map((symbol) => ({ name: symbol.name, symbol: resolved(symbol, checker) }))
      .sort((a, b) => a.name.localeCompare(b.name, "en"));
    const own = exported.filter(({ symbol }) => !places.has(symbol));
    for (const { name, symbol } of own) {
      places.set(symbol, { page: entry.page, name });
      const target = renamedTarget(symbol, checker);
      if (target !== undefined) places.set(target, { page: entry.page, name });
    }
    return { ...entry, doc: fileDocOf(entry), exported, own };
  });
  const isExported = new Set(places.keys());
  return { pages: pages.map((page) => readPage(page, { checker, places, isExported })), places };
}

function readPage({ own, exported, ...page }, { checker, places, isExported }) {
  const others = [];
  const context = { checker, places, isExported, page: page.page, others };
  const symbols = own.map(({ name, symbol }) => describe(name, symbol, context));
  const elsewhere = exported.filter(({ symbol }) => places.get(symbol).page !== page.page);
  // Types that a type without a name of its own names join the list while it is walked.
  const further = [];
  for (let next = others.shift(); next !== undefined; next = others.shift())
    further.push(describe(next.name, next.symbol, context));
  return {
    ...page,
    symbols,
    others: further.sort((a, b) => a.name.localeCompare(b.name, "en")),
    elsewhere: elsewhere.map(({ name, symbol }) => ({ name, place: places.get(symbol) })),
  };
}

function describe(name, symbol, context) {
  const declarations = (symbol.declarations ?? []).filter((one) => !ts.isModuleDeclaration(one));
  const [first] = declarations;
  const target = renamedTarget(symbol, context.checker);
  const subject = target?.declarations[0] ?? first;
  const names = new Set();
  const within = { ...context, names, isOpen: new Set([symbol, target]) };
  const docs = declarations.map(docOf);
  const doc = docs.find(({ text }) => text !== "") ?? docs[0];
  return {
    name,
    kind: kindOf(first),
    doc: doc.text === "" && target !== undefined ? docOf(subject) : doc,
    examples: docs.flatMap(({ examples }) => examples),
    ...shapeOfDeclaration(subject, declarations, within),
    names: [...names],
  };
}

function kindOf(declaration) {
  if (ts.isFunctionDeclaration(declaration)) return "function";
  if (ts.isVariableDeclaration(declaration)) return "constant";
  return ts.isClassDeclaration(declaration) ? "class" : "type";
}

function shapeOfDeclaration(subject, declarations, within) {
  if (ts.isFunctionDeclaration(subject)) {
    for (const one of declarations) noteNames(one, within);
    return {
      signature: declarations.map((one) => pretty(printed(one).replace(/^export declare /, ""))).join("\n"),
      members: subject.parameters.flatMap((parameter) => membersOfParameter(parameter, within)),
    };
  }
  if (ts.isVariableDeclaration(subject)) {
    noteNames(subject, within);
    return { signature: `const ${pretty(`${printed(subject)};`)}`, members: [] };
  }
  if (ts.isTypeAliasDeclaration(subject)) {
    const members = membersOf(subject.type, within);
    const [{ name, typeParameters }] = declarations;
    const parameters = typeParameters === undefined ? "" : `<${typeParameters.map(printed).join(", ")}>`;
    const head = `type ${name.text}${parameters}`;
    noteNames(subject.type, within);
    if (members.length === 0) return { signature: pretty(`${head} = ${printed(subject.type)};`), members };
    return { signature: parameters === "" ? "" : `${head};`, members };
  }
  noteNames(subject, within);
  const base = subject.heritageClauses?.map((clause) => ` ${printed(clause)}`).join("") ?? "";
  const word = ts.isClassDeclaration(subject) ? "class" : "interface";
  return {
    signature: base === "" && word === "interface" ? "" : `${word} ${subject.name.text}${base}`,
    members: membersOfType(subject.members, within),
  };
}

/** The members of a type, as far as it has some that can be named: those of objects, intersections and unions of them. */
function membersOf(type, within) {
  if (ts.isParenthesizedTypeNode(type)) return membersOf(type.type, within);
  if (ts.isTypeLiteralNode(type)) return membersOfType(type.members, within);
  if (ts.isTypeOperatorNode(type) && type.operator === ts.SyntaxKind.ReadonlyKeyword)
    return membersOf(type.type, within);
  if (ts.isArrayTypeNode(type)) return isInline(type.elementType) ? membersOf(type.elementType, within) : [];
  if (ts.isIntersectionTypeNode(type)) return type.types.flatMap((one) => membersOfPart(one, within));
  if (ts.isUnionTypeNode(type)) return variantsOf(type, within);
  if (ts.isFunctionTypeNode(type)) return type.parameters.flatMap((one) => membersOfParameter(one, within));
  return [];
}

/** Whether the type is written out in place, so that its members have no other home. */
function isInline(type) {
  if (ts.isParenthesizedTypeNode(type)) return isInline(type.type);
  return ts.isTypeLiteralNode(type) || ts.isIntersectionTypeNode(type) || ts.isUnionTypeNode(type);
}

/** One part of an intersection. */
function membersOfPart(part, within) {
  if (!ts.isTypeReferenceNode(part)) return membersOf(part, within);
  const symbol = referenced(part.typeName, within);
  if (!isPartOnly(part, symbol, within) || within.isOpen.has(symbol))
    return [{ title: oneLine(printed(part)), kind: "all", doc: noDoc, members: [] }];
  return membersOf(symbol.declarations[0].type, { ...within, isOpen: new Set([...within.isOpen, symbol]) });
}

/** Whether a part of an intersection is a type without an exported name, whose members stand among the others. */
function isPartOnly(part, symbol, { isExported }) {
  const declaration = symbol?.declarations?.[0];
  if (symbol === undefined || isExported.has(symbol) || part.typeArguments !== undefined) return false;
  return isOurs(declaration) && ts.isTypeAliasDeclaration(declaration) && !ts.isUnionTypeNode(declaration.type);
}

/** The variants of a union of objects. A union of plain values has none. */
function variantsOf(union, within) {
  const variants = union.types.map((one, index) => ({
    title: titleOfVariant(one),
    kind: "variant",
    isNamed: ts.isTypeReferenceNode(one),
    doc: docOfVariant(one, union.types[index - 1]),
    members: ts.isTypeReferenceNode(one) ? [] : membersOf(one, within),
  }));
  const isOfObjects = variants.some(({ members }) => members.length > 0);
  if (!isOfObjects) return [];
  return variants.map((variant, index) =>
    variant.members.length === 0 ? { ...variant, title: brief(union.types[index]) } : variant,
  );
}

/** What is told of a variant: before it, or at the member that tells it from the others. */
function docOfVariant(type, before) {
  const leading = leadingDocOf(type, before);
  return leading.text === ""
    ? (literalMembersOf(type)
        .map(docOf)
        .find(({ text }) => text !== "") ?? leading)
    : leading;
}

/** What tells a variant from the others: its members of literal types, such as `type: "approve"`. */
function titleOfVariant(type) {
  const literals = literalMembersOf(type);
  return literals.length > 0
    ? literals.map((one) => oneLine(printed(one)).replace(/^readonly |;$/g, "")).join(", ")
    : brief(type);
}

function literalMembersOf(type) {
  if (ts.isParenthesizedTypeNode(type)) return literalMembersOf(type.type);
  if (ts.isIntersectionTypeNode(type)) return type.types.flatMap(literalMembersOf);
  return ts.isTypeLiteralNode(type) ? type.members.filter(isLiteral) : [];
}

function isLiteral(member) {
  return (
    ts.isPropertySignature(member) &&
    member.questionToken === undefined &&
    member.type !== undefined &&
    ts.isLiteralTypeNode(member.type) &&
    ts.isStringLiteral(member.type.literal)
  );
}

function membersOfType(members, within) {
  return members
    .filter(
      (member) => !isPrivate(member) && member.type?.kind !== ts.SyntaxKind.NeverKeyword && !isUndefined(member.type),
    )
    .map((member) => {
      const type = member.type;
      const inner = type === undefined || member.parameters !== undefined ? [] : membersOf(type, within);
      const parameters = member.parameters?.flatMap((one) => membersOfParameter(one, within)) ?? [];
      return {
        name: member.name?.getText() ?? "",
        title: titleOfMember(member, inner),
        kind: kindOfMember(member),
        isFunction: member.parameters !== undefined || (type !== undefined && ts.isFunctionTypeNode(type)),
        doc: docOf(member),
        members: [...parameters, ...inner],
      };
    });
}

function kindOfMember(member) {
  if (isLiteral(member)) return "literal";
  return member.name === undefined ? "signature" : "member";
}

/** The members of an options object that is written out in the place of a parameter. */
function membersOfParameter(parameter, within) {
  if (parameter.type === undefined || !ts.isTypeLiteralNode(parameter.type)) return [];
  return membersOfType(parameter.type.members, within).map((member) => ({
    ...member,
    title: `${parameter.name.getText()}.${member.title}`,
    isOfParameter: true,
  }));
}

/** A member that may only be absent tells a variant from another one. */
function isUndefined(type) {
  return type?.kind === ts.SyntaxKind.UndefinedKeyword;
}

function isPrivate(member) {
  return (
    ts.canHaveModifiers(member) &&
    (ts.getModifiers(member) ?? []).some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword)
  );
}

function titleOfMember(member, inner) {
  const text = oneLine(printed(member))
    .replace(/^readonly /, "")
    .replace(/;$/, "");
  if (inner.length === 0 || member.type === undefined || ts.isFunctionTypeNode(member.type)) return text;
  return `${member.name.getText()}${member.questionToken === undefined ? "" : "?"}: ${brief(member.type)}`;
}

/** A type in short: objects that are written out are `{ … }`, as their members are told below. */
function brief(type) {
  if (ts.isParenthesizedTypeNode(type)) return brief(type.type);
  if (ts.isTypeLiteralNode(type)) return "{ … }";
  if (ts.isTypeOperatorNode(type)) return brief(type.type);
  if (ts.isArrayTypeNode(type)) {
    const element = brief(type.elementType);
    return isInline(type.elementType) && element.includes(" | ") ? `(${element})[]` : `${element}[]`;
  }
  if (ts.isUnionTypeNode(type)) return [...new Set(type.types.map(brief))].join(" | ");
  if (ts.isIntersectionTypeNode(type)) return [...new Set(type.types.map(brief))].join(" & ");
  return oneLine(printed(type));
}

/** Notes which types of the package a node names, so that the page links to them. */
function noteNames(node, within) {
  const name = ts.isTypeReferenceNode(node) ? node.typeName : ts.isTypeQueryNode(node) ? node.exprName : undefined;
  const symbol = name === undefined ? undefined : referenced(name, within);
  if (symbol !== undefined && !within.isOpen.has(symbol) && isOurs(symbol.declarations?.[0])) {
    if (ts.isTypeReferenceNode(node) && ts.isIntersectionTypeNode(node.parent) && isPartOnly(node, symbol, within)) {
      noteNames(symbol.declarations[0].type, { ...within, isOpen: new Set([...within.isOpen, symbol]) });
      return;
    }
    noteName(symbol, within);
  }
  ts.forEachChild(node, (child) => noteNames(child, within));
}

function noteName(symbol, { places, page, others, names }) {
  if (!places.has(symbol)) {
    const place = { page, name: symbol.name };
    places.set(symbol, place);
    others.push({ name: symbol.name, symbol });
  }
  names.add(symbol);
}

function referenced(name, { checker }) {
  const symbol = checker.getSymbolAtLocation(name);
  return symbol === undefined ? undefined : resolved(symbol, checker);
}

function resolved(symbol, checker) {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

/** The type that an exported name stands for, if it is a type of the package with some arguments given: `Agent<AnyModel>`. */
function renamedTarget(symbol, checker) {
  const declaration = symbol.declarations?.[0];
  if (declaration === undefined || !ts.isTypeAliasDeclaration(declaration)) return undefined;
  const { type, typeParameters = [] } = declaration;
  if (!ts.isTypeReferenceNode(type)) return undefined;
  const given = new Set(type.typeArguments?.map(printed));
  if (!typeParameters.every(({ name }) => given.has(name.text))) return undefined;
  const target = referenced(type.typeName, { checker });
  const aliased = target?.declarations?.[0];
  return isOurs(aliased) && (ts.isTypeAliasDeclaration(aliased) || ts.isInterfaceDeclaration(aliased))
    ? target
    : undefined;
}

/** Type parameters are no types of the package, nor is what its dependencies declare. */
function isOurs(declaration) {
  if (declaration === undefined || ts.isTypeParameterDeclaration(declaration)) return false;
  return declaration.getSourceFile().fileName.startsWith(resolve("dist"));
}

/**
 * What an entry point is for: the comment at the top of its file, without its name. It is read in src: where the first import is of no
 * type, the compiler leaves that import and its comment out of the declarations.
 */
function fileDocOf({ types }) {
  const source = readFileSync(types.replace(resolve("dist"), resolve("src")).replace(/\.d\.ts$/, ".ts"), "utf8");
  const [range] = ts.getLeadingCommentRanges(source, 0) ?? [];
  const text =
    range === undefined
      ? ""
      : source
          .slice(range.pos + 3, range.end - 2)
          .replace(/^\s*\* ?/gm, "")
          .trim();
  return text.replace(/^`[^`]+`: /, "").replace(/^[a-z]/, (letter) => letter.toUpperCase());
}

function printed(node) {
  return printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile());
}

function oneLine(text) {
  return text.replace(/\s+/g, " ").replace(/; }/g, " }").trim();
}

/** A short declaration stands on one line. */
function pretty(text) {
  const line = oneLine(text);
  return line.length <= 110 ? line : text.replaceAll("    ", "  ");
}
