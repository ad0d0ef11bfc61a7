package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Crl;
import dev.polis.pki.Ed25519;
import dev.polis.pki.IdentityException;
import dev.polis.pki.TlsIdentity;
import dev.polis.wire.api.AAAGrpc;
import dev.polis.wire.api.ManagementGrpc;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Calls a node that starts with a revocation list from its disk, or without one. */
@Timeout(60)
class RpcRevocationTest {
  private static final RpcRevocations MISSING =
      new RpcRevocations.Unknown("/data/revocations.crl is missing");

  private final RpcFixture fixture = RpcFixture.withoutCredentials();

  @BeforeEach
  void serve() {
    fixture.host.serve(RpcHost.CURATOR, RpcFixture.reaching(ManagementGrpc.getServiceDescriptor()));
    fixture.host.serve(RpcHost.CURATOR, RpcFixture.reaching(AAAGrpc.getServiceDescriptor()));
  }

  @AfterEach
  void stop() {
    fixture.close();
  }

  private Crl list(long number, TlsIdentity... revoked) {
    return fixture.ca.revocationList(
        BigInteger.valueOf(number),
        Arrays.stream(revoked).map(each -> each.certificate().getSerialNumber()).toList());
  }

  private static Status ask(ManagedChannel channel) throws Exception {
    return AuthorizationMatrixTest.call(
        channel, RpcFixture.typed(ManagementGrpc.getGetClusterInfoMethod()));
  }

  @Test
  @Tag("attack")
  @DisplayName("a certificate in the list on the disk is refused from the first call on")
  void knownFromTheFirstCall() throws Exception {
    TlsIdentity revoked = fixture.user("owner");
    fixture.host.identify(fixture.credentials, new RpcRevocations.Known(list(1, revoked)));

    assertEquals(Status.Code.UNAUTHENTICATED, ask(fixture.as(revoked)).getCode());
    assertEquals(Status.Code.ALREADY_EXISTS, ask(fixture.asOwner()).getCode());
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "while the list is unknown no certificate is accepted, and callers get the reason; the list of consensus ends that")
  void unknownRefusesAllMembers() throws Exception {
    TlsIdentity revoked = fixture.user("owner");
    fixture.host.identify(fixture.credentials, MISSING);
    ManagedChannel owner = fixture.asOwner();

    Status refused = ask(owner);
    assertEquals(Status.Code.UNAVAILABLE, refused.getCode());
    String words = refused.getDescription();
    assertTrue(words.contains("/data/revocations.crl is missing"), words);
    assertThrows(IdentityException.class, fixture.host::revoked);
    assertInstanceOf(RpcRevocations.Unknown.class, fixture.host.revocations().peek().orElseThrow());

    fixture.host.revoke(list(2, revoked));
    assertEquals(Status.Code.ALREADY_EXISTS, ask(owner).getCode());
    assertEquals(Status.Code.UNAUTHENTICATED, ask(fixture.as(revoked)).getCode());
    assertTrue(fixture.host.revoked().orElseThrow().revokes(revoked.certificate()));
  }

  @Test
  @DisplayName("while the list is unknown a stranger may still call the methods for strangers")
  void unknownDoesNotConcernStrangers() throws Exception {
    fixture.host.identify(fixture.credentials, MISSING);
    ManagedChannel stranger =
        fixture.channel(RpcClients.ephemeral(Ed25519.generate(), fixture.trust()));
    assertEquals(
        Status.Code.ALREADY_EXISTS,
        AuthorizationMatrixTest.call(stranger, RpcFixture.typed(AAAGrpc.getEscrowMethod()))
            .getCode());
  }

  @Test
  @DisplayName(
      "a list that the running node has learned is not replaced by an older or missing one of the disk")
  void newerListStays() throws Exception {
    TlsIdentity revoked = fixture.user("owner");
    fixture.host.identify(fixture.credentials, new RpcRevocations.Known(list(1)));
    fixture.host.revoke(list(2, revoked));
    for (RpcRevocations older : List.of(MISSING, new RpcRevocations.Known(list(1)))) {
      fixture.host.identify(fixture.credentials, older);
      assertEquals(Status.Code.UNAUTHENTICATED, ask(fixture.as(revoked)).getCode());
      assertEquals(Status.Code.ALREADY_EXISTS, ask(fixture.asOwner()).getCode());
    }
    fixture.host.identify(fixture.credentials);
    assertEquals(Status.Code.UNAUTHENTICATED, ask(fixture.as(revoked)).getCode());
  }

  @Test
  @Tag("attack")
  @DisplayName("a list of another authority neither admits a revoked member nor refuses another")
  void foreignListChangesNothing() throws Exception {
    TlsIdentity revoked = fixture.user("owner");
    TlsIdentity victim = fixture.user("owner");
    fixture.host.identify(fixture.credentials, new RpcRevocations.Known(list(1, revoked)));
    CertificateAuthority attacker = CertificateAuthority.create("Test cluster CA");

    assertThrows(
        IdentityException.class,
        () ->
            fixture.host.revoke(
                attacker.revocationList(
                    BigInteger.TWO, List.of(victim.certificate().getSerialNumber()))));

    assertEquals(Status.Code.ALREADY_EXISTS, ask(fixture.as(victim)).getCode());
    assertEquals(Status.Code.UNAUTHENTICATED, ask(fixture.as(revoked)).getCode());
  }

  @Test
  @DisplayName("a list of another authority opens no listener")
  void foreignList() {
    CertificateAuthority other = CertificateAuthority.create("Another cluster");
    assertThrows(
        IdentityException.class,
        () ->
            fixture.host.identify(
                fixture.credentials,
                new RpcRevocations.Known(other.revocationList(BigInteger.ONE, List.of()))));
    assertFalse(
        fixture.host.listeners().peek().orElseThrow().stream().anyMatch(RpcListenerStatus::open));
  }
}
