package dev.polis.curator.api;

import dev.polis.base.config.DidYouMean;
import dev.polis.curator.record.Refusal;
import dev.polis.plugins.manifest.KeyId;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.manifest.TrustedKey;
import dev.polis.wire.cluster.TrustedKeys;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** Decides about changes of the trusted keys. */
public final class TrustedKeyRules {

  /** The most keys: enough for each team that builds plugins, and for keys under replacement. */
  private static final int MOST = 64;

  private TrustedKeyRules() {}

  /** Returns the keys of a record. */
  public static TrustRoots roots(TrustedKeys record) {
    return new TrustRoots(record.getKeysList().stream().map(TrustedKeyRules::key).toList());
  }

  /**
   * Returns the key in a message.
   *
   * @throws IllegalArgumentException if it is malformed
   */
  static TrustedKey key(dev.polis.wire.cluster.TrustedKey message) {
    return TrustedKey.of(message.getName(), message.getPublicKey().toByteArray());
  }

  /** Returns the record with an additional key. */
  static TrustedKeys with(TrustedKeys record, dev.polis.wire.cluster.TrustedKey added) {
    if (record.getKeysList().contains(added)) {
      return record;
    }
    KeyId id = key(added).id();
    for (dev.polis.wire.cluster.TrustedKey each : record.getKeysList()) {
      if (each.getName().equals(added.getName())) {
        throw Refusal.precondition(
            "the name %s belongs to another key, %s; choose another name, or remove that key first",
            each.getName(), key(each).id());
      }
      if (key(each).id().equals(id)) {
        throw Refusal.precondition(
            "the cluster already trusts the key %s, under the name %s", id, each.getName());
      }
    }
    if (record.getKeysCount() >= MOST) {
      throw Refusal.outOfRange(
          "the cluster trusts %d keys, which is the limit; remove one first", MOST);
    }
    List<dev.polis.wire.cluster.TrustedKey> keys = new ArrayList<>(record.getKeysList());
    keys.add(added);
    keys.sort(Comparator.comparing(dev.polis.wire.cluster.TrustedKey::getName));
    return TrustedKeys.newBuilder().addAllKeys(keys).build();
  }

  /** Returns the key of this name. */
  static dev.polis.wire.cluster.TrustedKey require(TrustedKeys record, String name) {
    return record.getKeysList().stream()
        .filter(each -> each.getName().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                Refusal.notFound(
                    "no trusted key has the name \"%s\"%s",
                    name,
                    DidYouMean.among(
                        name,
                        record.getKeysList().stream()
                            .map(dev.polis.wire.cluster.TrustedKey::getName)
                            .toList())));
  }

  /** Returns the record without a key. */
  static TrustedKeys without(TrustedKeys record, dev.polis.wire.cluster.TrustedKey removed) {
    return TrustedKeys.newBuilder()
        .addAllKeys(record.getKeysList().stream().filter(each -> !each.equals(removed)).toList())
        .build();
  }

  /**
   * Lists the consequences of removing a key.
   *
   * @param signed the running plugins with a signature of this key
   */
  static List<String> consequences(
      TrustedKeys record, dev.polis.wire.cluster.TrustedKey removed, List<String> signed) {
    List<String> consequences = new ArrayList<>();
    lastKey(record, removed).ifPresent(consequences::add);
    if (!signed.isEmpty()) {
      consequences.add(
          "%s was signed with it and runs: it keeps running, but no node can swap it in again until a trusted key signs it"
              .formatted(String.join(", ", signed)));
    }
    return consequences;
  }

  private static Optional<String> lastKey(
      TrustedKeys record, dev.polis.wire.cluster.TrustedKey removed) {
    return without(record, removed).getKeysCount() == 0
        ? Optional.of(
            "%s is the last trusted key: without it no node can swap in a plugin from outside"
                .formatted(removed.getName()))
        : Optional.empty();
  }
}
