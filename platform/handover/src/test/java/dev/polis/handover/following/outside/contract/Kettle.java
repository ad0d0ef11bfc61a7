package dev.polis.handover.following.outside.contract;

import java.util.function.Supplier;

/** Answers with the version of its provider; outside bundles contain this contract. */
public interface Kettle extends Supplier<String> {}
