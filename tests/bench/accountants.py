"""Conversions of privacy losses beside public accountants and beside the truth.

    pip install dp-accounting opendp mpmath; python tests/bench/accountants.py

Prints three tables. The first: ρ-zCDP in ε at a δ, simple and tight; by OpenDP; by dp-accounting, which takes
the least of a list of orders (here ever closer to the best one); and what Gaussian noise with this ρ has,
below which no bound may be. The second: advanced composition of k runs beside the least there is (Kairouz,
Oh, Viswanath, *The Composition Theorem for Differential Privacy*), by dp-accounting, in steps of 2ε. The
third: ε²/8, the ρ of an index by Gumbel noise of the scale 2/ε (answers that move by 1), by OpenDP; and the
greatest Rényi divergence over its order, by dp-accounting, of the choice of one of two answers that change
places, which is a randomized response with ε/2.
"""

from __future__ import annotations

from aligncheck.runtime.losses import advanced, epsilon_of, tight_delta_of, tight_epsilon_of

CONCENTRATED = [
    (0.5, 1e-6),
    (0.0001, 1e-6),
    (0.01, 1e-9),
    (3.0, 1e-5),
    (0.1, 0.01),
    (50.0, 1e-12),
    (0.125, 1e-30),
]
COMPOSED = [(0.1, 100, 1e-6), (0.01, 1000, 1e-6), (0.5, 20, 1e-3), (1.0, 4, 0.1)]
CHOSEN = [0.01, 0.1, 1.0, 3.0]


def by_opendp(rho: float, delta: float) -> float:
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    measurement = dp.m.make_user_measurement(
        dp.atom_domain(T=float, nan=False),
        dp.absolute_distance(T=float),
        dp.zero_concentrated_divergence(),
        lambda answer: answer,
        lambda distance: rho,
    )
    return float(dp.c.make_zCDP_to_approxDP(measurement).map(1.0).epsilon(delta))


def by_dp_accounting(rho: float, delta: float) -> float:
    import numpy as np
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    centre, width = 3.0, 9.0
    while True:
        orders = 1 + np.exp(np.linspace(centre - width, centre + width, 1000))
        found, best = rdp.compute_epsilon(orders, orders * rho, delta)
        if width < 1e-6:
            return float(found)
        centre, width = np.log(best - 1), width / 100


def of_gaussian(rho: float, delta: float) -> float:
    """The ε of Gaussian noise whose deviation is 1/sqrt(2ρ) of the distance, by bisection in 60 digits: δ is
    Q(ε/μ - μ/2) - e^ε Q(ε/μ + μ/2) with μ = sqrt(2ρ) (Balle and Wang, ICML 2018, Theorem 8)."""
    from mpmath import erfc, exp, mp, mpf, sqrt

    mp.dps = 60
    mu = sqrt(2 * mpf(rho))

    def above(x: object) -> object:
        return erfc(x / sqrt(mpf(2))) / 2

    low, high = mpf(0), mpf(1000)
    for _ in range(200):
        middle = (low + high) / 2
        excess = above(middle / mu - mu / 2) - exp(middle) * above(middle / mu + mu / 2)
        low, high = (middle, high) if excess > delta else (low, middle)
    return float(high)


def least_of_all(epsilon: float, calls: int, slack: float) -> float:
    from dp_accounting.pld import accountant, common

    each = common.DifferentialPrivacyParameters(epsilon, 0)
    return float(accountant.advanced_composition(each, calls, slack))


def noisy_max_by_opendp(epsilon: float) -> float:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    answers = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    measurement = dp.m.make_noisy_max(*answers, dp.zero_concentrated_divergence(), scale=2 / epsilon)
    return float(measurement.map(1.0))


def of_two_answers(epsilon: float) -> float:
    import numpy as np
    from dp_accounting import NeighboringRelation, dp_event
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    orders = 1 + np.exp(np.linspace(-6, 6, 400))
    accountant = rdp.RdpAccountant(list(orders), NeighboringRelation.REPLACE_ONE)
    accountant.compose(dp_event.RandomizedResponseDpEvent(2 / (1 + np.exp(epsilon / 2)), 2))
    return float(max(accountant._rdp / orders))


def main() -> None:
    print(
        "| ρ | δ | simple | tight | OpenDP | dp-accounting | Gaussian | δ of the tight ε |\n"
        + "|---" * 8
        + "|"
    )
    for rho, delta in CONCENTRATED:
        tight = tight_epsilon_of(rho, delta)
        numbers = [float(epsilon_of(rho, delta)), float(tight)]
        numbers += [by_opendp(rho, delta), by_dp_accounting(rho, delta), of_gaussian(rho, delta)]
        numbers += [float(tight_delta_of(rho, tight))]
        print(f"| {rho:g} | {delta:g} | " + " | ".join(f"{number:.14g}" for number in numbers) + " |")
    print("\n| ε | k | δ' | advanced | least |\n" + "|---" * 5 + "|")
    for epsilon, calls, slack in COMPOSED:
        numbers = [float(advanced(epsilon, calls, slack)), least_of_all(epsilon, calls, slack)]
        print(
            f"| {epsilon:g} | {calls} | {slack:g} | "
            + " | ".join(f"{number:.14g}" for number in numbers)
            + " |"
        )
    print("\n| ε | ε²/8 | OpenDP | two answers |\n" + "|---" * 4 + "|")
    for epsilon in CHOSEN:
        numbers = [epsilon**2 / 8, noisy_max_by_opendp(epsilon), of_two_answers(epsilon)]
        print(f"| {epsilon:g} | " + " | ".join(f"{number:.14g}" for number in numbers) + " |")


if __name__ == "__main__":
    main()
