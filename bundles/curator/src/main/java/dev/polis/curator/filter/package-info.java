/**
 * Evaluates the filters that callers write for lists of nodes.
 *
 * <pre>
 *   text ──▶ NodeFilterLimits ──▶ NodeFilter (compiled) ──▶ each node: kept or not
 *             size, nesting            │ own threads
 *                                      └── FilterBudget: steps and time of all filters
 * </pre>
 *
 * <p><b>Filters</b> of lists are programs that a caller wrote. The curator limits them before it
 * compiles them and while it evaluates them, on threads that do nothing else ({@code NodeFilter}).
 *
 * <p>Not promised: that a filter within the limits is fast. A filter that is too expensive ends
 * with a message and an empty list.
 *
 * <p>Why not fixed options, such as one per field: an operator asks about labels, roles and states
 * together, and the language for it is the one that Kubernetes uses.
 */
package dev.polis.curator.filter;
