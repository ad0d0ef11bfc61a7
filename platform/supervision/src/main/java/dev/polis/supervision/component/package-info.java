/** Offers the supervision tree as a service. */
package dev.polis.supervision.component;
