/**
 * Holds organs that tests pack into bundles of their own, for real nodes to run.
 *
 * <p>They stand apart because a bundle contains whole packages, and tests do not belong on a node.
 */
package dev.polis.cluster.it.organs;
