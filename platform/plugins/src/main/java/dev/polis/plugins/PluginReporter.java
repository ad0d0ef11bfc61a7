package dev.polis.plugins;

import dev.polis.health.HealthCondition;
import dev.polis.health.PluginReports;
import dev.polis.health.PluginStatus;
import dev.polis.plugins.graph.FollowedContract;
import dev.polis.plugins.manifest.BundlePlugin;
import dev.polis.plugins.manifest.InstalledManifests;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PluginManifest;
import dev.polis.plugins.manifest.PluginRefusedException;
import dev.polis.plugins.manifest.PluginVerifier;
import dev.polis.plugins.manifest.SignedManifest;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.store.Generation;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.store.PluginStoreException;
import dev.polis.plugins.store.StoredPlugin;
import dev.polis.plugins.store.SwapNotes;
import dev.polis.plugins.store.SwapRecord;
import dev.polis.plugins.swap.SwapEngine;
import dev.polis.plugins.swap.SwapStatus;
import dev.polis.wire.plugins.GraphResponse;
import dev.polis.wire.plugins.ServiceUse;
import java.io.IOException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;

/**
 * Reports the status of plugins from the framework, their manifests, the plugin store and the
 * running swap. Each call reads everything again.
 */
final class PluginReporter implements PluginReports {
  private static final String SWAP_FAILED = "swap-failed";
  private static final String LAST_SWAP = "last-swap";
  private static final String UNDER_WAY = "swap-under-way";
  private static final String REMEMBERED = "generation-remembered";
  private static final String REFUSED = "signature-refused";
  private static final String UNKNOWN_KEYS = "keys-not-known";
  private static final String NO_MANIFEST = "manifest-unreadable";
  private static final String STORE = "store-unreadable";
  private static final String OTHER_GENERATION = "not-of-generation";
  private static final String HELD = "calls-held";

  private final BundleContext context;
  private final PluginStore store;
  private final SwapEngine engine;
  private final PluginVerifier verifier;
  private final Supplier<Optional<TrustRoots>> trusted;
  private final Supplier<GraphResponse> graph;
  private final Supplier<List<FollowedContract>> contracts;

  /**
   * @param trusted the keys that the cluster trusts; empty while this node does not know them
   * @param graph the uses between bundles
   * @param contracts the providers behind the proxies
   */
  PluginReporter(
      BundleContext context,
      PluginStore store,
      SwapEngine engine,
      PluginVerifier verifier,
      Supplier<Optional<TrustRoots>> trusted,
      Supplier<GraphResponse> graph,
      Supplier<List<FollowedContract>> contracts) {
    this.context = context;
    this.store = store;
    this.engine = engine;
    this.verifier = verifier;
    this.trusted = trusted;
    this.graph = graph;
    this.contracts = contracts;
  }

  /**
   * Holds the content of the store.
   *
   * @param generationOrNull the current generation; null if it cannot be read
   * @param troubleOrNull the fault of an unreadable store, or null
   */
  private record Stored(
      Generation generationOrNull,
      List<SwapRecord> history,
      List<SwapRecord> failed,
      HealthCondition troubleOrNull) {

    Optional<Generation> generation() {
      return Optional.ofNullable(generationOrNull);
    }

    Optional<HealthCondition> trouble() {
      return Optional.ofNullable(troubleOrNull);
    }

    boolean has(Bundle bundle) {
      return generation().stream()
          .flatMap(each -> each.plugins().stream())
          .anyMatch(each -> is(each, bundle));
    }

    private static boolean is(StoredPlugin plugin, Bundle bundle) {
      return plugin.symbolicName().equals(bundle.getSymbolicName())
          && plugin.version().equals(bundle.getVersion().toString());
    }
  }

  @Override
  public List<PluginStatus> plugins() {
    Stored stored = stored();
    List<ServiceUse> uses = graph.get().getServicesList();
    List<PluginStatus> plugins = new ArrayList<>();
    Set<String> named = new LinkedHashSet<>();
    for (Bundle bundle : context.getBundles()) {
      BundlePlugin plugin = BundlePlugin.of(bundle);
      switch (plugin) {
        case BundlePlugin.Organ(PluginManifest manifest) ->
            plugins.add(installed(bundle, InstalledPlugins.provided(manifest), stored, uses));
        case BundlePlugin.Undescribed undescribed -> {
          if (stored.has(bundle)) {
            plugins.add(undescribed(bundle, undescribed, stored));
          }
        }
        case BundlePlugin.Library library -> plugins.add(ofPlatform(bundle));
      }
      named.add(bundle.getSymbolicName());
    }
    stored.history().stream()
        .flatMap(swap -> swap.plugins().stream())
        .filter(named::add)
        .flatMap(name -> absent(name, stored).stream())
        .forEach(plugins::add);
    return plugins;
  }

  private static PluginStatus ofPlatform(Bundle bundle) {
    return new PluginStatus(
        bundle.getSymbolicName(),
        OptionalLong.of(bundle.getBundleId()),
        PluginStatus.Provided.PLATFORM,
        "version %s %s; it belongs to the platform, which stands still while the process lives"
            .formatted(bundle.getVersion(), state(bundle)),
        List.of(),
        Instant.ofEpochMilli(bundle.getLastModified()));
  }

  private Stored stored() {
    try {
      SwapNotes notes = SwapNotes.of(store);
      return new Stored(store.current().orElse(null), notes.history(), notes.failed(), null);
    } catch (IOException | PluginStoreException e) {
      return new Stored(
          null,
          List.of(),
          List.of(),
          HealthCondition.degraded(
              STORE, "the plugin store cannot be read: " + e.getMessage(), ""));
    }
  }

  private PluginStatus installed(
      Bundle bundle, PluginStatus.Provided provided, Stored stored, List<ServiceUse> uses) {
    List<HealthCondition> conditions = new ArrayList<>();
    stored.trouble().ifPresent(conditions::add);
    String signer = signer(bundle, conditions);
    generation(bundle, stored).ifPresent(conditions::add);
    conditions.addAll(held(bundle, uses));
    conditions.addAll(swaps(bundle.getSymbolicName(), stored));
    return new PluginStatus(
        bundle.getSymbolicName(),
        OptionalLong.of(bundle.getBundleId()),
        provided,
        "version %s %s, %s".formatted(bundle.getVersion(), state(bundle), signer),
        conditions,
        Instant.ofEpochMilli(bundle.getLastModified()));
  }

  private static String state(Bundle bundle) {
    return switch (bundle.getState()) {
      case Bundle.ACTIVE -> "runs";
      case Bundle.STARTING -> "is being started";
      case Bundle.STOPPING -> "is being stopped";
      case Bundle.RESOLVED -> "is stopped";
      default -> "is installed and lacks something that it imports";
    };
  }

  /** Names the signer of a bundle, and adds a condition if no signer is trusted any more. */
  private String signer(Bundle bundle, List<HealthCondition> conditions) {
    try {
      ManifestEnvelope envelope = InstalledManifests.read(bundle);
      Optional<TrustRoots> roots = trusted.get();
      if (envelope instanceof SignedManifest signed && roots.isEmpty()) {
        conditions.add(
            HealthCondition.up(
                UNKNOWN_KEYS,
                "it is unknown whether the cluster still trusts the key %s: its curator has not sent this node its keys"
                    .formatted(signed.keyId())));
        return "signed by key " + signed.keyId();
      }
      byte[] manifest = envelope.encode().toByteArray();
      return "vouched for by "
          + verifier.verifyManifest(manifest, roots.orElse(TrustRoots.NONE)).signer();
    } catch (PluginRefusedException e) {
      conditions.add(
          HealthCondition.degraded(
              REFUSED,
              "it would be refused today, and runs because it was accepted before: "
                  + e.getMessage(),
              "swap in a version that is signed by a key of \"polisctl plugin trust list\""));
      return "without a trusted signer";
    } catch (IOException e) {
      conditions.add(
          HealthCondition.degraded(NO_MANIFEST, "its manifest cannot be read: " + e, ""));
      return "without a trusted signer";
    }
  }

  private static Optional<HealthCondition> generation(Bundle bundle, Stored stored) {
    return stored
        .generation()
        .map(
            generation ->
                stored.has(bundle)
                    ? HealthCondition.up(
                        "generation", "it belongs to generation " + generation.number())
                    : HealthCondition.up(
                        OTHER_GENERATION,
                        "it does not belong to generation %d: the next start of the process does not run it"
                            .formatted(generation.number())));
  }

  /** Describes the waiting calls to a plugin and from it. */
  private List<HealthCondition> held(Bundle bundle, List<ServiceUse> uses) {
    List<HealthCondition> held = new ArrayList<>();
    for (FollowedContract contract : contracts.get()) {
      boolean provides =
          contract.provider().isPresent()
              && contract.provider().getAsLong() == bundle.getBundleId();
      boolean needs =
          uses.stream()
              .filter(use -> use.hasUser() && use.getUser() == bundle.getBundleId())
              .anyMatch(use -> use.getService().equals(contract.contract()));
      boolean waits = contract.held() || contract.waitingCalls() > 0;
      if (waits && (provides || needs)) {
        held.add(
            HealthCondition.degraded(
                HELD,
                "%s, which it %s: %s since %s, %d calls wait"
                    .formatted(
                        contract.contract(),
                        provides ? "provides" : "uses",
                        contract.standing(),
                        contract.since().truncatedTo(ChronoUnit.SECONDS),
                        contract.waitingCalls()),
                "wait for the end of the swap, or end it with: polisctl plugin cancel"));
      }
    }
    return held;
  }

  private List<HealthCondition> swaps(String name, Stored stored) {
    List<HealthCondition> swaps = new ArrayList<>();
    underWay(name).ifPresent(swaps::add);
    List<SwapRecord> own =
        stored.history().stream()
            .filter(swap -> swap.plugins().contains(name))
            .filter(swap -> !swap.outcome().equals(SwapRecord.NOTHING_TO_DO))
            .toList();
    Optional<SwapRecord> last = own.isEmpty() ? Optional.empty() : Optional.of(own.getLast());
    last.map(swap -> ended(swap, stored)).ifPresent(swaps::add);
    stored.failed().stream()
        .filter(swap -> swap.plugins().contains(name))
        .filter(swap -> last.filter(each -> each.target().equals(swap.target())).isEmpty())
        .map(
            swap ->
                HealthCondition.up(
                    REMEMBERED,
                    "remembered, and not tried again unless something changes or --force is given: "
                        + told(swap)))
        .forEach(swaps::add);
    return swaps;
  }

  private Optional<HealthCondition> underWay(String name) {
    Optional<SwapStatus> swap = engine.newest().peek();
    return swap.filter(now -> now.outcome().isEmpty() && now.plugins().contains(name))
        .map(
            now ->
                HealthCondition.up(
                    UNDER_WAY,
                    "the %s, ordered by %s at %s, is under way: %s"
                        .formatted(
                            now.what(),
                            now.who(),
                            now.began().truncatedTo(ChronoUnit.SECONDS),
                            now.stages().isEmpty()
                                ? "it has just begun"
                                : now.stages().getLast().words())));
  }

  private static HealthCondition ended(SwapRecord swap, Stored stored) {
    if (!swap.isFailure()) {
      return HealthCondition.up(LAST_SWAP, "its last order: " + told(swap));
    }
    boolean remembered =
        stored.failed().stream().anyMatch(each -> each.target().equals(swap.target()));
    return remembered
        ? HealthCondition.degraded(
            SWAP_FAILED,
            told(swap) + "; the node remembers that, and does not try the same again",
            "repair the plugin and swap it in again; --force tries the same again")
        : HealthCondition.degraded(
            SWAP_FAILED, told(swap), "repair the named cause and give the order again");
  }

  private static String told(SwapRecord swap) {
    return "%s, ordered by %s at %s: %s%s"
        .formatted(
            swap.what(),
            swap.who(),
            swap.began().truncatedTo(ChronoUnit.SECONDS),
            swap.outcome(),
            swap.reason().isEmpty() ? "" : ": " + swap.reason());
  }

  private static PluginStatus undescribed(
      Bundle bundle, BundlePlugin.Undescribed plugin, Stored stored) {
    return new PluginStatus(
        bundle.getSymbolicName(),
        OptionalLong.of(bundle.getBundleId()),
        PluginStatus.Provided.NOTHING,
        "version %s %s; what it provides is not known"
            .formatted(bundle.getVersion(), state(bundle)),
        Stream.concat(
                stored.trouble().stream(),
                Stream.of(
                    HealthCondition.degraded(
                        NO_MANIFEST,
                        "its manifest says nothing: " + plugin.why(),
                        plugin.remedy())))
            .toList(),
        Instant.ofEpochMilli(bundle.getLastModified()));
  }

  /** Reports a plugin that a swap tried to install and that is not installed. */
  private Optional<PluginStatus> absent(String name, Stored stored) {
    List<HealthCondition> swaps = swaps(name, stored);
    boolean wanted =
        swaps.stream()
            .anyMatch(swap -> swap.code().equals(SWAP_FAILED) || swap.code().equals(UNDER_WAY));
    return wanted
        ? Optional.of(
            new PluginStatus(
                name,
                OptionalLong.empty(),
                PluginStatus.Provided.NOTHING,
                "it is not installed on this node",
                swaps,
                lastOf(name, stored)))
        : Optional.empty();
  }

  private static Instant lastOf(String name, Stored stored) {
    return stored.history().reversed().stream()
        .filter(swap -> swap.plugins().contains(name))
        .map(SwapRecord::began)
        .findFirst()
        .orElseGet(Instant::now);
  }
}
