package dev.polis.curator.api;

import dev.polis.base.config.DidYouMean;
import dev.polis.curator.record.Refusal;
import dev.polis.wire.cluster.PluginScope;
import dev.polis.wire.cluster.WantedPlugin;
import dev.polis.wire.cluster.WantedPlugins;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.osgi.framework.Version;

/** Decides about changes of the wanted plugins. */
final class WantedPluginRules {

  /**
   * The most wanted plugins: a distribution has about twenty organs and roles, and each may have
   * many pins.
   */
  private static final int MOST = 512;

  /**
   * The size of the largest record. etcd accepts requests of 1.5 MiB, of which other updates of the
   * same batch need a part; the manifest of a large organ has 15 KiB.
   */
  private static final int LARGEST = 768 * 1024;

  private WantedPluginRules() {}

  /** Returns the wanted plugin of a scope and a symbolic name. */
  static Optional<WantedPlugin> find(
      List<WantedPlugin> wanted, PluginScope scope, String symbolicName) {
    return wanted.stream()
        .filter(each -> each.getScope().equals(scope))
        .filter(each -> each.getSymbolicName().equals(symbolicName))
        .findFirst();
  }

  /**
   * Returns the record with a plugin in place of the wanted one, or the same record if the cluster
   * already wants this plugin there.
   *
   * @param again true to write it even then
   */
  static WantedPlugins with(WantedPlugins record, WantedPlugin added, boolean again) {
    Optional<WantedPlugin> before =
        find(record.getWantedList(), added.getScope(), added.getSymbolicName());
    if (before.isPresent()) {
      if (!again && isSame(before.get(), added)) {
        return record;
      }
      requireNewer(before.get(), added);
    }
    List<WantedPlugin> wanted = new ArrayList<>(record.getWantedList());
    before.ifPresent(wanted::remove);
    wanted.add(added);
    wanted.sort(PluginScopes.ORDER);
    WantedPlugins changed = WantedPlugins.newBuilder().addAllWanted(wanted).build();
    requireRoom(changed);
    return changed;
  }

  /** Returns whether a wanted plugin already fulfils a request. */
  private static boolean isSame(WantedPlugin there, WantedPlugin asked) {
    return there.getDigest().equals(asked.getDigest())
        && there.getManifest().equals(asked.getManifest())
        && (there.getOlder() || !asked.getOlder());
  }

  private static void requireNewer(WantedPlugin before, WantedPlugin added) {
    if (!added.getOlder() && isOlder(added.getVersion(), before.getVersion())) {
      throw Refusal.precondition(
          "%s %s is older than %s, which is wanted %s; set older if you want the older version",
          added.getSymbolicName(),
          added.getVersion(),
          before.getVersion(),
          PluginScopes.words(added.getScope()));
    }
  }

  /**
   * Returns whether a version is older than another one; a text that is not a version is never
   * older.
   */
  static boolean isOlder(String version, String than) {
    try {
      return Version.parseVersion(version).compareTo(Version.parseVersion(than)) < 0;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private static void requireRoom(WantedPlugins record) {
    if (record.getWantedCount() > MOST) {
      throw Refusal.outOfRange(
          "the cluster would want %d plugins; the limit is %d; unpin one first",
          record.getWantedCount(), MOST);
    }
    if (record.getSerializedSize() > LARGEST) {
      throw Refusal.outOfRange(
          "the manifests of the wanted plugins would have %d bytes together; the limit is %d; unpin one first",
          record.getSerializedSize(), LARGEST);
    }
  }

  /** Returns the wanted plugin of a scope, or fails with the name of the wanted one. */
  static WantedPlugin require(WantedPlugins record, PluginScope scope, String symbolicName) {
    return find(record.getWantedList(), scope, symbolicName)
        .orElseThrow(() -> notWanted(record, scope, symbolicName));
  }

  private static RuntimeException notWanted(
      WantedPlugins record, PluginScope scope, String symbolicName) {
    List<String> elsewhere =
        record.getWantedList().stream()
            .filter(each -> each.getSymbolicName().equals(symbolicName))
            .map(each -> PluginScopes.words(each.getScope()))
            .toList();
    if (!elsewhere.isEmpty()) {
      return Refusal.notFound(
          "the cluster does not want %s %s, but %s",
          symbolicName, PluginScopes.words(scope), String.join(", ", elsewhere));
    }
    return Refusal.notFound(
        "the cluster wants no plugin \"%s\"%s",
        symbolicName,
        DidYouMean.among(
            symbolicName,
            record.getWantedList().stream()
                .map(WantedPlugin::getSymbolicName)
                .distinct()
                .toList()));
  }

  /** Returns the record without a plugin. */
  static WantedPlugins without(WantedPlugins record, WantedPlugin removed) {
    return WantedPlugins.newBuilder()
        .addAllWanted(
            record.getWantedList().stream().filter(each -> !each.equals(removed)).toList())
        .build();
  }
}
