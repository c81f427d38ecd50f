/**
 * Holdfast: an embeddable transactional repository of JSON entities.
 *
 * Everything returns promises, which the store's queue settles in the event loop; no call blocks it, and no thread of
 * the library's enters JavaScript. Options, filters and updates are those of the C API, as objects. A program that waits
 * for nothing ends, also while a store is open.
 */
import type { Status } from "./status";
export type { Status } from "./status";

/** What a call failed with. */
export class HoldfastError extends Error {
  private constructor();
  /** Which kind of failure it is. */
  readonly code: Status;
  /** Details for programs: see hf_error_detail. */
  readonly detail: { readonly [member: string]: unknown };
  /** Whether the same work may succeed when it is done again. */
  readonly retryable: boolean;
  /** What became of the commit. */
  readonly commitState: "none" | "unknown" | "done";
}

/** How many handles of a kind live in this process: for tests that nothing leaks. */
export function handleCount(kind?: string): number;

export type Id = string | number;
export type Json = null | boolean | number | string | Json[] | { [member: string]: Json };
export interface Filter {
  [member: string]: unknown;
}
export interface Update {
  [operator: `$${string}`]: { [path: string]: unknown };
}

export interface StoreOptions {
  create?: boolean;
  read_only?: boolean;
  durability?: "full" | "relaxed";
  max_in_flight?: number;
  cache_bytes?: number;
  lock_timeout_ms?: number;
  [option: string]: Json | undefined;
}
export interface RepositoryOptions {
  /** The member that holds an entity's id; "id" unless it says otherwise. */
  key?: string;
  create?: boolean;
  cache?: { [option: string]: Json };
}
export interface TransactionOptions {
  isolation?: "serializable" | "snapshot";
  durability?: "full" | "relaxed";
  /** How long the commit may be queued. */
  timeout_ms?: number;
  idempotency_key?: string;
  on_error?: "continue" | "abort";
  name?: string;
}
export interface TransactOptions extends TransactionOptions {
  /** 100 unless it says otherwise. */
  max_attempts?: number;
}
export interface FindOptions {
  sort?: { [path: string]: 1 | -1 | { $meta: "textScore" } };
  skip?: number;
  limit?: number;
  fields?: string[] | { [path: string]: 0 | 1 | { $meta: "textScore" } };
  parameters?: { [name: string]: Json };
  damaged?: "refuse" | "skip";
}
export interface ObserveOptions {
  repository?: string;
  id?: Id;
  filter?: Filter;
  fields?: string[];
  old?: boolean;
  entities?: boolean;
  since?: string;
}

/** An entity as stored, and its version; 0 where an open transaction wrote it. */
export interface Versioned<T> {
  entity: T;
  version: number;
}

/** What a commit answers: see receipt.h. */
export interface Receipt {
  sequence: number;
  position?: string;
  durable: boolean;
  attempts: number;
  replayed: boolean;
  changes: { repository: string; id: string; operation: "put" | "delete"; version: number }[];
}

/** What a live query tells: the whole result first, then how it differs. See stream.h. */
export interface LiveNews<T> {
  position: string;
  snapshot?: T[];
  versions?: number[];
  merged?: number;
  removed?: { position: number; id: string }[];
  inserted?: { position: number; id: string; version: number; entity: T }[];
  moved?: { from: number; to: number; id: string }[];
  changed?: { position: number; id: string; version: number; entity: T }[];
}
/** What an observer tells. */
export interface CommitNews {
  position: string;
  behind?: boolean;
  commits: {
    sequence: number;
    time: number;
    changes: { repository: string; id?: string; operation: string; entity?: unknown; old?: unknown; to?: string }[];
  }[];
}

/** A live query or an observer, for `for await`. It ends with its store; leaving the loop closes it. */
export interface Live<News> extends AsyncIterableIterator<News> {
  /** Follows no more. */
  close(): void;
}

/** A database. Close it; one that is forgotten is closed when it is collected. */
export class Store {
  private constructor();
  /** Opens a store, creating it where there is none. */
  static open(url: string, options?: StoreOptions): Promise<Store>;
  /** Opens a repository, creating it where there is none. */
  repository<T extends object = Record<string, unknown>>(
    name: string,
    options?: RepositoryOptions,
  ): Promise<Repository<T>>;
  /** Begins a transaction. One that is forgotten is rolled back. */
  begin(options?: TransactionOptions): Transaction;
  /**
   * Runs the body in a transaction and commits it; after a conflict it runs again. What the body throws rolls back and
   * arrives here. With an idempotency key that was used the body does not run: no value, and the first receipt.
   */
  transact<T>(
    body: (transaction: Transaction) => T | Promise<T>,
    options?: TransactOptions,
  ): Promise<{ value: T | undefined; receipt: Receipt }>;
  /** Follows what is committed. */
  observe(options?: ObserveOptions): Promise<Live<CommitNews>>;
  /** Refuses new work, rolls back open transactions, finishes and tells what was accepted. */
  close(): Promise<void>;
}

/** One unit of work. Calls in it take turns. */
export class Transaction {
  private constructor();
  /** Commits; the promise is settled in commit order. */
  commit(): Promise<Receipt>;
  /** Discards it. INVALID_STATE once it was committed. */
  rollback(): void;
  /** Withdraws a commit while it is queued; INVALID_STATE when it is too late. */
  cancel(): void;
}

/** A named collection of entities, or what a transaction sees of it. */
export class Repository<T extends object> {
  private constructor();
  /** The same repository in a transaction. */
  within(transaction: Transaction): Repository<T>;
  /** Stores a new entity, which is given an id if it has none. EXISTS when the id is taken. */
  add(entity: T): Promise<Versioned<T>>;
  /** Stores an entity, new or not. */
  save(entity: T): Promise<Versioned<T>>;
  /** Replaces an existing entity. NOT_FOUND; VERSION_MISMATCH unless it has the version (0: any). */
  update(entity: T, expectedVersion?: number): Promise<Versioned<T>>;
  /** Changes some members by a JSON merge patch. Fails as update does. */
  patch(id: Id, patch: { [K in keyof T]?: T[K] | null }, expectedVersion?: number): Promise<Versioned<T>>;
  /** Changes an entity by update operators; begins with `initial` where there is none. */
  modify(id: Id, update: Update, initial?: Partial<T>): Promise<Versioned<T>>;
  /** Deletes an entity. Fails as update does. */
  delete(id: Id, expectedVersion?: number): Promise<void>;
  /** Stores several, all or none. */
  addMany(entities: T[]): Promise<void>;
  fetch(id: Id): Promise<T | undefined>;
  fetchVersioned(id: Id): Promise<Versioned<T> | undefined>;
  find(filter?: Filter, options?: FindOptions): Promise<T[]>;
  first(filter?: Filter, options?: Omit<FindOptions, "limit">): Promise<T | undefined>;
  count(filter?: Filter): Promise<number>;
  contains(id: Id): Promise<boolean>;
  /** Follows a query's result. */
  live(filter?: Filter, options?: FindOptions): Promise<Live<LiveNews<T>>>;
}
