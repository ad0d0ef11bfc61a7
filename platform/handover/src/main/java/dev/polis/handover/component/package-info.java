/**
 * Offers the node's one table of hand-overs as a service: the one class that knows the framework.
 *
 * <pre>
 *   LogTree ──▶ HandOverComponent ──offers──▶ HandOvers ◀── organs: join("curator", …), …
 * </pre>
 *
 * <p>The table has nothing to close: it holds what instances have joined, and they leave by
 * themselves.
 *
 * <p>Not promised: that organs continue from each other's state after this component itself was
 * replaced. It belongs to the platform, which stands still while a node runs.
 *
 * <p>Why not in the package of the table: tests of organs use tables without a framework.
 */
package dev.polis.handover.component;
