package dev.polis.handover.following;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.handover.following.outside.KettleProvider;
import dev.polis.handover.following.outside.KettleUser;
import dev.polis.handover.following.outside.contract.Kettle;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.Bundle;
import org.osgi.framework.ServiceReference;

/** Replaces the provider of a contract from an outside bundle. */
@Timeout(60)
final class OutsideContractTest {
  private static final String PACKAGE = Kettle.class.getPackageName();

  /** The capability in the form that the build writes for the annotation. */
  private static final Map<String, String> FOLLOWED =
      Map.of("Provide-Capability", "polis.followed;objectClass=\"" + Kettle.class.getName() + '"');

  /** The capability in a form that a person may write. */
  private static final Map<String, String> LISTED =
      Map.of(
          "Provide-Capability",
          "polis.followed;objectClass:List<String>=\"" + Kettle.class.getName() + '"');

  private static final Map<String, String> UNANNOTATED = Map.of();

  @TempDir Path folder;
  private TestFramework framework;

  @BeforeEach
  void start() throws Exception {
    framework = new TestFramework(folder, TestFramework.generous());
  }

  @AfterEach
  void stop() throws Exception {
    framework.close();
  }

  @Test
  @DisplayName(
      "a contract of an outside bundle that declares it followed is followed across a swap of its provider")
  void anAnnotatedContractIsFollowed() throws Exception {
    contract("1.0.0", FOLLOWED);
    Bundle first = provider("1.0.0", "1.0.0");
    Bundle user = user("1.0.0");
    assertEquals("kettle 1.0.0", cup(user).get());
    assertEquals("dev.polis.handover.following", bound(user));

    Supplier<String> cup = cup(user);
    Bundle second = provider("2.0.0", "1.0.0");
    try (ServiceSwap swap = framework.services().begin(first, second)) {
      assertEquals(List.of(Kettle.class.getName()), List.copyOf(swap.contracts()));
      swap.switchTo(second);
      first.uninstall();
    }
    assertEquals("kettle 2.0.0", cup.get());
    assertEquals(Bundle.ACTIVE, user.getState());
  }

  @Test
  @DisplayName(
      "a contract without the declaration is not followed: its users stay bound to the provider")
  void anUnannotatedContractIsNot() throws Exception {
    contract("1.0.0", UNANNOTATED);
    Bundle first = provider("1.0.0", "1.0.0");
    Bundle user = user("1.0.0");
    assertEquals("kettle", bound(user));

    Bundle second = provider("2.0.0", "1.0.0");
    try (ServiceSwap swap = framework.services().begin(first, second)) {
      assertTrue(swap.contracts().isEmpty());
      first.uninstall();
    }
    assertEquals("kettle 1.0.0", cup(user).get(), "the provider that the user was bound to");
  }

  @Test
  @DisplayName("a contract is followed only while its bundle is resolved")
  void aContractGoesWithItsBundle() throws Exception {
    Bundle contract = contract("1.0.0", LISTED);
    assertEquals(List.of(Shelf.class.getName(), Kettle.class.getName()), followed());
    contract.uninstall();
    assertEquals(List.of(Shelf.class.getName()), followed());
  }

  @Test
  @DisplayName("of two contracts with one name only the declared one is followed")
  void aNamesakeIsNotFollowed() throws Exception {
    contract("1.0.0", FOLLOWED);
    contract("2.0.0", UNANNOTATED);
    provider("1.0.0", "1.0.0");
    provider("2.0.0", "2.0.0");

    Bundle user = user("1.0.0");
    assertEquals("dev.polis.handover.following", bound(user));
    assertEquals("kettle 1.0.0", cup(user).get());
    user.uninstall();
    Bundle other = user("2.0.0");
    assertEquals("kettle", bound(other));
    assertEquals("kettle 2.0.0", cup(other).get());
  }

  @Test
  @DisplayName("a bundle that names a missing contract does not affect other bundles")
  void aBrokenDeclarationIsLeftOut() throws Exception {
    framework.bundle(
        "broken",
        "1.0.0",
        Map.of(
            "Provide-Capability",
            "polis.followed;objectClass=org.example.Missing,polis.followed;objectClass=java.lang.String,polis.followed"));
    contract("1.0.0", FOLLOWED);
    assertEquals(List.of(Shelf.class.getName(), Kettle.class.getName()), followed());
    provider("1.0.0", "1.0.0");
    assertEquals("dev.polis.handover.following", bound(user("1.0.0")));
  }

  private List<String> followed() throws Exception {
    return framework.services().all().peek().orElseThrow().stream()
        .map(FollowedService::contract)
        .toList();
  }

  private Bundle contract(String version, Map<String, String> more) throws Exception {
    Map<String, String> headers = new HashMap<>(more);
    headers.put("Export-Package", PACKAGE + ";version=" + version);
    return framework.bundle("kettles", version, headers, Kettle.class);
  }

  private Bundle provider(String version, String contract) throws Exception {
    return framework.bundle(
        "kettle", version, using(contract, KettleProvider.class), KettleProvider.class);
  }

  private Bundle user(String contract) throws Exception {
    return framework.bundle("tea", contract, using(contract, KettleUser.class), KettleUser.class);
  }

  private static Map<String, String> using(String contract, Class<?> activator) {
    return Map.of(
        "Bundle-Activator",
        activator.getName(),
        "Import-Package",
        "org.osgi.framework,%s;version=\"[%s,%s]\"".formatted(PACKAGE, contract, contract));
  }

  /** Returns the bundle that registered the kettle to which a user is bound. */
  private static String bound(Bundle user) {
    for (ServiceReference<?> each : user.getServicesInUse()) {
      return each.getBundle().getSymbolicName();
    }
    throw new AssertionError("the user uses no service");
  }

  @SuppressWarnings("unchecked") // The user's activator registers this service.
  private static Supplier<String> cup(Bundle user) {
    return (Supplier<String>) user.getBundleContext().getService(user.getRegisteredServices()[0]);
  }
}
