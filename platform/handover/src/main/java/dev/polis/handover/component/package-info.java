/**
 * Offers the node's one table of hand-overs as a service: the package that knows the framework.
 *
 * <pre>
 *   LogTree ──▶ HandOverComponent ──offers──▶ HandOvers ◀── organs: join("curator", …), …
 * </pre>
 *
 * <p>The table has nothing to close: it holds what instances have joined, and they leave by
 * themselves. An instance whose component fails after it has joined does not: Declarative Services
 * do not deactivate such a component. So each bundle has a service of its own, and what it has
 * joined leaves when the framework takes the service back: with the failed component, or when the
 * bundle stops.
 *
 * <p>Not promised: that organs continue from each other's state after this component itself was
 * replaced. It belongs to the platform, which stands still while a node runs.
 *
 * <p>Why not in the package of the table: tests of organs use tables without a framework.
 */
package dev.polis.handover.component;
