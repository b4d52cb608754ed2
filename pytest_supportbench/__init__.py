"""pytest-supportbench: is the customer-support agent good, and did the change in front of you make it worse?"""
